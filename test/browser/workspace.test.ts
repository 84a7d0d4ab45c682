// Credits and API keys of a workspace.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { truncatedPng } from '../support/photos.ts'
import { cutOut, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

const keyWords = [
  {
    ...{ locale: 'en', create: 'Create key', networks: 'Networks', fresh: 'Your new key' },
    addresses: 'Latest addresses',
  },
  {
    ...{ locale: 'de', create: 'Schlüssel anlegen', networks: 'Netze', fresh: 'Ihr neuer Schlüssel' },
    addresses: 'Letzte Adressen',
  },
]

describe.skipIf(!hasBrowser('workspace.test.ts'))('a workspace', () => {
  const console = useConsole()

  const available = (page: Page) =>
    page.locator('dt', { hasText: /^Available$/ }).locator('xpath=following-sibling::dd')

  it('gets the credits of a pack that its owner buys', async () => {
    const page = await console.openSignedIn({ person: await console.person({ plan: 'free', credits: 7 }) })
    await page.getByRole('link', { name: 'Credits' }).click()
    await available(page).getByText('7', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Buy credits' }).click()
    await page.getByRole('button', { name: /^Buy small/i }).click()
    await page.getByRole('button', { name: /^Pay / }).click()
    await page.getByRole('heading', { name: 'The order is paid' }).waitFor()
    await page.getByRole('link', { name: 'Back to the app' }).click()
    await page.getByRole('region', { name: 'Orders' }).getByText('Paid').waitFor()
    await page.getByRole('link', { name: 'Credits' }).click()
    await available(page).getByText('107', { exact: true }).waitFor()
  })

  it.each([
    { locale: 'en', confidence: 'Confidence', toCheck: 'To check', note: /^\d.*: check this cut-out$/ },
    { locale: 'de', confidence: 'Sicherheit', toCheck: 'Zu prüfen', note: /^\d.*: diesen Freisteller prüfen$/ },
  ])('shows in $locale which cut-outs to check', async ({ locale, confidence, toCheck, note }) => {
    const someone = await console.person()
    const key = generateApiKey()
    await insertApiKey(console.stack.db, key, {
      ...{ workspaceId: someone.workspaceId, name: 'shop', scopes, expiresAt: null },
    })
    const client = createClient(console.url, key.key)
    const blank = sharp({ create: { width: 60, height: 40, channels: 3, background: '#fff' } })
    const unsure = await cutOut(client, { bytes: await blank.png().toBuffer() })
    const torn = await client.createTask({ imageUrl: await client.upload(truncatedPng()) })
    await untilStatus(client, torn.id, 'failed') // without a confidence
    const page = await console.openSignedIn({ person: someone })
    await page.evaluate(`localStorage.setItem('matte-locale', '${locale}')`)
    await page.goto('/gallery')
    const tiles = page.getByRole('gridcell')
    await until('both are there', async () => (await tiles.count()) === 2)
    await page.getByLabel(confidence).click()
    await page.getByRole('option', { name: toCheck }).click()
    await until('one is left', async () => (await tiles.count()) === 1)
    expect(new URL(page.url()).search).toContain('check=true')
    await page.goto(`/tasks/${unsure.id}`)
    await page.getByText(note).waitFor()
  })

  it.each([
    {
      locale: 'en',
      create: 'Create key',
      note: /^The plan free has no API access/,
      choose: 'Choose a plan with API access',
    },
    {
      locale: 'de',
      create: 'Schlüssel anlegen',
      note: /^Der Tarif free hat keinen API-Zugang/,
      choose: 'Einen Tarif mit API-Zugang wählen',
    },
  ])('says in $locale that its plan refuses keys before one is made, and how to get another plan', async (words) => {
    const page = await console.openSignedIn({ person: await console.person({ plan: 'free', credits: 7 }) })
    await page.evaluate(`localStorage.setItem('matte-locale', '${words.locale}')`)
    await page.goto(`${console.url}/keys`)
    await page.getByRole('note').getByText(words.note).waitFor()
    await page.getByRole('button', { name: words.create }).click()
    const dialog = page.getByRole('dialog', { name: words.create })
    await dialog.getByText(words.note).waitFor()
    await dialog.getByRole('link', { name: words.choose }).click()
    await page.waitForURL(`${console.url}/billing`)
  })

  it('says nothing of the kind on a plan with API access', async () => {
    const page = await console.openSignedIn()
    const answered = page.waitForResponse(/users\/subscription/)
    await page.goto(`${console.url}/keys`)
    await answered
    await page.getByRole('button', { name: 'Create key' }).waitFor()
    expect(await page.getByRole('note').count()).toBe(0)
  })

  it('creates the key that `matte login --console` asks for', async () => {
    const page = await console.openSignedIn()
    await page.goto(`${console.url}/keys?create=matte+on+laptop`)
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    expect(await dialog.getByLabel('Name').inputValue()).toBe('matte on laptop')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    await page.getByRole('row', { name: 'matte on laptop' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
  })

  it('has an API key that works until it is rolled, and its successor until it is revoked', async () => {
    const statusWith = async (key: string) => {
      const headers = { 'x-api-key': key }
      return (await fetch(`${console.url}/api/v1/open/developer/usage`, { headers })).status
    }
    const page = await console.openSignedIn()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByLabel('Name').fill('shop backend')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const shown = page.locator('section', { has: page.getByRole('heading', { name: 'Your new key' }) }).locator('code')
    const key = (await shown.textContent()) ?? ''
    expect(await statusWith(key)).toBe(200)

    await page.reload()
    const row = page.getByRole('row', { name: 'shop backend' })
    await row.getByText('Active').waitFor()
    expect(await page.content()).not.toContain(key)

    await row.getByRole('button', { name: 'Actions for shop backend' }).click()
    await page.getByRole('menuitem', { name: 'Roll' }).click()
    const roll = page.getByRole('dialog', { name: 'Roll “shop backend”' })
    await roll.getByRole('button', { name: /The old key works for/ }).click()
    await page.getByRole('option', { name: 'no longer' }).click()
    await roll.getByRole('button', { name: 'Roll' }).click()
    const successor = (await shown.textContent()) ?? ''
    expect(successor).not.toBe(key)
    expect(await statusWith(successor)).toBe(200)
    await until('the old key is refused', async () => (await statusWith(key)) === 401)

    await row.filter({ hasText: 'Active' }).getByRole('button', { name: 'Actions for shop backend' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('Active').waitFor({ state: 'detached' })
    await until('the key is refused', async () => (await statusWith(successor)) === 401)
  })

  it.each(keyWords)('limits a key to networks and shows the addresses that used it, in $locale', async (words) => {
    const page = await console.openSignedIn({ tolerates: [/400 \(Bad Request\)/] })
    await page.evaluate(`localStorage.setItem('matte-locale', '${words.locale}')`)
    await page.goto(`${console.url}/keys`)
    await page.getByRole('button', { name: words.create }).click()
    const dialog = page.getByRole('dialog', { name: words.create })
    await dialog.getByLabel('Name').fill('office')
    const networks = dialog.getByLabel(words.networks)
    await networks.fill('10.0.0.1/8')
    await dialog.getByRole('button', { name: words.create }).click()
    await dialog.getByText('write 10.0.0.0/8').waitFor()
    await networks.fill('127.0.0.0/8\n::1')
    await dialog.getByRole('button', { name: words.create }).click()
    const shown = page.locator('section', { has: page.getByRole('heading', { name: words.fresh }) }).locator('code')
    const key = (await shown.textContent()) ?? ''
    const row = page.getByRole('row', { name: 'office' })
    await row.getByText('127.0.0.0/8').waitFor()
    await row.getByText('::1/128').waitFor()
    const answer = await fetch(`${console.url}/api/v1/open/developer/usage`, { headers: { 'x-api-key': key } })
    expect(answer.status).toBe(200)
    await until('the address is shown', async () => {
      await page.reload()
      await row.waitFor()
      return row.getByRole('list', { name: words.addresses }).getByText('127.0.0.1').isVisible()
    })
  })

  it('has an end for the keys of a team, which its owner chooses', async () => {
    const owner = await console.person()
    const { db } = console.stack
    const { id } = await db
      .insertInto('workspace')
      .values({ name: 'Shop', kind: 'team', plan: 'pro' })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.insertInto('membership').values({ workspace_id: id, user_id: owner.userId, role: 'owner' }).execute()
    const page = await console.openSignedIn({ person: owner })
    await page.goto('/team')
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByRole('tab', { name: 'Settings' }).click()
    const days = page.getByLabel('Longest life of a key, in days')
    await days.fill('ninety')
    await page.getByText('Enter a whole number from 1 to 3,650').waitFor()
    await days.fill('90')
    await page.getByRole('button', { name: 'Save limit' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByText('At most 90 days ahead').waitFor()
    await dialog.getByLabel('Name').fill('shop backend')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page
      .getByRole('row', { name: 'shop backend' })
      .getByText(/^Until /)
      .waitFor()
  })
})

describe.skipIf(!hasBrowser('workspace.test.ts'))('a workspace where nothing is sold', () => {
  const console = useConsole({ PAYMENTS_PROVIDER: 'none' })

  it('names the command that gives its plan API access', async () => {
    const person = await console.person({ plan: 'free', credits: 7 })
    const page = await console.openSignedIn({ person })
    await page.goto(`${console.url}/keys`)
    await page.getByText(`matte-admin workspace plan --workspace ${person.workspaceId} --plan PLAN`).waitFor()
  })
})

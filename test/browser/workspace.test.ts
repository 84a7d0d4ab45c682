// Credits and API keys of a workspace.
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

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
})

// Behaviour of open pages when the network, the service or the session ends.
import { writeSetting } from '@matte/core/setting/setting-queries'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { password } from '../support/app/sign-in/given-password.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { endSessions, watchToken } from './support/end-sessions.ts'

const noNetwork =
  /ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE/
const refused = /status of 40[01]/

describe.skipIf(!hasBrowser('interruptions.test.ts'))('the console', () => {
  const console = useConsole()

  const signInHere = async (page: Page, email: string): Promise<void> => {
    const emailField = page.getByLabel('Email address')
    if (await emailField.isEnabled()) await emailField.fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).last().click()
  }
  const accountButton = (page: Page) => page.getByRole('button', { name: /^Account of / })

  it('says that it is offline, refuses a photo with a reason, and goes on afterwards', async () => {
    const page = await console.openSignedIn({ tolerates: [noNetwork] })
    await page.context().setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByRole('alert').waitFor()
    await page.context().setOffline(false)
    await page.getByText('You are offline.').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByText(/^Done in /).waitFor()
  })

  it('finishes a cut-out although the API is killed meanwhile', async () => {
    const page = await console.openSignedIn({ tolerates: [noNetwork, /status of 50[0-9]/] })
    await writeSetting(console.stack.db, 'dispatchPaused', true)
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByText('Waiting for a worker').first().waitFor()
    await console.killApi()
    await console.restartApi()
    await writeSetting(console.stack.db, 'dispatchPaused', false)
    const done = page.getByText(/^Done in /)
    // The page itself tries again for some seconds; on a slow machine the API starts later.
    const again = page.getByRole('button', { name: 'Try again' })
    await done.or(again).waitFor()
    if (await again.isVisible()) await again.click()
    await done.waitFor()
  })

  it('continues the same task when the answers to its creation were lost', async () => {
    const someone = await console.person()
    const page = await console.openSignedIn({ person: someone, tolerates: [/ERR_FAILED/] })
    const creation = '**/api/v1/app/tasks/images'
    await page.route(creation, async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      return route.abort()
    })
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    const again = page.getByRole('button', { name: 'Try again' })
    await again.waitFor({ timeout: 60_000 })
    await page.unroute(creation)
    await again.click()
    await page.getByText(/^Done in /).waitFor()
    const tasks = await console.stack.db
      .selectFrom('task')
      .select('id')
      .where('workspace_id', '=', someone.workspaceId)
      .execute()
    expect(tasks).toHaveLength(1)
  })

  it('creates nothing twice when a form is sent again after a lost answer', async () => {
    const someone = await console.person()
    const page = await console.openSignedIn({ person: someone, tolerates: [/ERR_FAILED/] })
    /** The service gets the request, and the page no answer. */
    const loseAnswers = (path: string): Promise<unknown> =>
      page.route(path, async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        await route.fetch()
        return route.abort()
      })
    const sendTwice = async (name: string, path: string): Promise<void> => {
      const dialog = page.getByRole('dialog', { name })
      const send = dialog.getByRole('button', { name, exact: true })
      await loseAnswers(path)
      await send.click()
      await dialog.getByRole('alert').waitFor({ timeout: 60_000 })
      await page.unroute(path)
      await send.click()
      await dialog.waitFor({ state: 'detached' })
    }

    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('once')
    await sendTwice('Create key', '**/developer/api-keys')
    // The service shows a key once, and that answer was lost.
    await page.getByRole('alert').filter({ hasText: 'Roll it to get a new one.' }).waitFor()
    await page.getByRole('row', { name: 'once' }).waitFor()

    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:9/once')
    await sendTwice('Create endpoint', '**/developer/webhooks')

    const { db } = console.stack
    const { workspaceId } = someone
    const names = await db.selectFrom('api_key').select('name').where('workspace_id', '=', workspaceId).execute()
    expect(names).toEqual([{ name: 'once' }])
    const urls = await db.selectFrom('webhook_endpoint').select('id').where('workspace_id', '=', workspaceId).execute()
    expect(urls).toHaveLength(1)
  })

  it('shows an error with a way on while the API is down', async () => {
    const page = await console.openSignedIn({ tolerates: [noNetwork] })
    await page.getByRole('link', { name: 'Credits' }).click()
    await page.getByRole('button', { name: /^Type|All entries/ }).click()
    await console.killApi()
    await page.getByRole('option', { name: 'Grant' }).click()
    const ledger = page.locator('section', { has: page.getByRole('heading', { name: 'Ledger' }) })
    await ledger.getByRole('alert').waitFor()
    await console.restartApi()
    await ledger.getByRole('button', { name: 'Try again' }).click()
    await ledger.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('stays, with a way on, when a page cannot be loaded', async () => {
    const page = await console.openSignedIn({ tolerates: [noNetwork, /could not be loaded/] })
    await console.killApi()
    await page.getByRole('link', { name: 'Credits' }).click()
    await page.getByRole('heading', { name: 'This page failed' }).waitFor()
    await console.restartApi()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.locator('dt', { hasText: /^Available$/ }).waitFor()
  })

  it('asks for the password when the session has ended, and keeps the page', async () => {
    const person = await console.person()
    const page = await console.openSignedIn({ person, tolerates: [refused] })
    const token = watchToken(page)
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByLabel('Name').fill('typed before the end')
    await endSessions(console, { userId: person.userId, token: token(), ending: 'revoked' })
    const expired = page.getByRole('alertdialog', { name: 'Your session has ended' })
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await expired.waitFor()
    await signInHere(page, person.email)
    await expired.waitFor({ state: 'detached' })
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed before the end')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('row', { name: 'typed before the end' }).waitFor()
  })

  it('leads from a reload with an ended session to the sign-in and back to the page', async () => {
    const person = await console.person()
    const page = await console.openSignedIn({ person, tolerates: [refused] })
    const token = watchToken(page)
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await endSessions(console, { userId: person.userId, token: token(), ending: 'expired' })
    await page.reload()
    await signInHere(page, person.email)
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/usage')
  })

  it('signs out in every tab', async () => {
    const page = await console.openSignedIn({ tolerates: [refused] })
    const other = await console.beside(page, { tolerates: [refused] })
    await other.goto('/credits')
    await accountButton(other).click()
    await other.getByRole('menuitem', { name: 'Sign out' }).click()
    await accountButton(page).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
  })
})

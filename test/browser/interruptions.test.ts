// Behaviour of open pages when the network, the service or the session ends.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { password } from '../support/app/sign-in/given-password.ts'
import { until } from '../support/until.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

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
  const endSessions = (userId: string) =>
    console.stack.db.updateTable('session').set({ ended_at: sql<Date>`now()` }).where('user_id', '=', userId).execute()
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
    const reading = page.waitForRequest((request) => request.url().includes('/app/developer/api-keys'))
    await page.getByRole('link', { name: 'API keys' }).click()
    const { authorization = '' } = (await reading).headers()
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByLabel('Name').fill('typed before the end')
    await endSessions(person.userId)
    const expired = page.getByRole('alertdialog', { name: 'Your session has ended' })
    // The API may accept the token for up to five seconds.
    await until('the session has ended', async () => {
      const response = await fetch(`${console.url}/api/v1/app/credits/balance`, { headers: { authorization } })
      return response.status === 401
    })
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
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await endSessions(person.userId)
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

// Every dialog of the console, for people who see, hear or operate it differently: opened and closed by keyboard, and
// checked by axe in both themes, in forced colors and on a narrow screen.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { password } from '../support/app/sign-in/given-password.ts'
import { findProblems } from './support/axe.ts'
import { hasBrowser, type PageOptions } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { type Filled, fillPages } from './support/pages.ts'

const appearances = {
  light: {},
  'dark and 320 pixels wide': { colorScheme: 'dark', viewport: { width: 320, height: 568 } },
  'forced colors': { forcedColors: 'active' },
} as const satisfies Record<string, PageOptions>

type Dialog = {
  readonly name: string | RegExp
  readonly path: string
  /** Leads to the button or menu that opens the dialog. */
  readonly before?: (page: Page) => Promise<unknown>
  readonly opener: (page: Page) => Locator
  /** The opener is a menu with this entry. */
  readonly entry?: string
}

const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name, exact: true })
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click()
const press = async (of: Locator): Promise<void> => {
  await of.focus()
  await of.press('Enter')
}

describe.skipIf(!hasBrowser('dialogs.test.ts'))('every dialog', () => {
  const console = useConsole({ UPLOADS_FETCH_URLS: 'true' })
  let filled: Filled
  beforeAll(async () => {
    filled = await fillPages(console)
  })

  /** Opens the dialogs in each appearance, and returns what is wrong with them. */
  async function checkEach(dialogs: readonly Dialog[], person: Filled['person']): Promise<unknown[]> {
    const findings: unknown[] = []
    for (const [appearance, options] of Object.entries(appearances)) {
      const page = await console.openSignedIn({ ...options, reducedMotion: 'reduce', person })
      for (const { name, path, before, opener, entry } of dialogs) {
        await page.goto(path)
        await page.getByRole('button', { name: /^Account of / }).waitFor()
        await before?.(page)
        await press(opener(page))
        if (entry !== undefined) await press(page.getByRole('menuitem', { name: entry, exact: true }))
        const dialog = dialogOf(page, name)
        await dialog.waitFor()
        for (const problem of await checkOpen(page)) findings.push([appearance, String(name), problem])
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        await opener(page).and(page.locator(':focus')).waitFor()
      }
    }
    return findings
  }
  const dialogOf = (page: Page, name: string | RegExp): Locator =>
    page.getByRole('dialog', { name }).or(page.getByRole('alertdialog', { name }))
  async function checkOpen(page: Page): Promise<unknown[]> {
    const isInside = `document.querySelector('[data-modal]').contains(document.activeElement)`
    const isWide = `[...document.querySelectorAll('html, [data-modal], [data-modal] > *')]
      .some((one) => one.scrollWidth > one.clientWidth + 1)`
    return [
      ...(await findProblems(page)),
      ...((await page.evaluate(isInside)) ? [] : ['the focus is outside']),
      ...((await page.evaluate(isWide)) ? ['wider than the window'] : []),
    ]
  }

  it('of keys is accessible', async () => {
    const actions = button('Actions for shop backend')
    const dialogs: Dialog[] = [
      { name: 'Create key', path: '/keys', opener: button('Create key') },
      { name: 'Roll “shop backend”', path: '/keys', opener: actions, entry: 'Roll' },
      { name: 'Revoke “shop backend”?', path: '/keys', opener: actions, entry: 'Revoke' },
    ]
    expect(await checkEach(dialogs, filled.person)).toEqual([])
  }, 400_000)

  it('of webhooks is accessible', async () => {
    const path = filled.addresses.member.find((one) => one.startsWith('/webhooks/')) ?? ''
    const actions = button('Actions')
    const dialogs: Dialog[] = [
      { name: 'Create endpoint', path: '/webhooks', opener: button('Create endpoint') },
      { name: 'Send a sample', path, opener: button('Send a sample') },
      { name: 'Recover', path, opener: button('Recover') },
      { name: 'Edit', path, opener: actions, entry: 'Edit' },
      { name: 'Rotate the signing secret?', path, opener: actions, entry: 'Rotate secret' },
      { name: 'Delete this endpoint?', path, opener: actions, entry: 'Delete' },
      { name: 'Delivery', path, opener: (page) => button('Details')(page).first() },
    ]
    expect(await checkEach(dialogs, filled.person)).toEqual([])
  }, 400_000)

  it('of the account is accessible', async () => {
    const dialogs: Dialog[] = [
      { name: 'Change address', path: '/account', opener: button('Change address') },
      {
        ...{ name: 'Turn on two-factor sign-in', path: '/account' },
        ...{ before: tab('Security'), opener: button('Turn on') },
      },
      { name: 'End all sessions', path: '/account', before: tab('Sessions'), opener: button('End all sessions') },
      { name: 'Delete your account', path: '/account', before: tab('Your data'), opener: button('Delete account') },
    ]
    expect(await checkEach(dialogs, filled.person)).toEqual([])
  }, 400_000)

  it('of the second factor is accessible, from its QR code to its end', async () => {
    const findings: unknown[] = []
    const page = await console.openSignedIn({ ...appearances['dark and 320 pixels wide'], reducedMotion: 'reduce' })
    const look = async (name: string): Promise<Locator> => {
      const dialog = dialogOf(page, name)
      await dialog.waitFor()
      for (const problem of await checkOpen(page)) findings.push([name, problem])
      return dialog
    }
    await page.goto('/account')
    await tab('Security')(page)
    await press(button('Turn on')(page))
    const setUp = await look('Turn on two-factor sign-in')
    await setUp.getByLabel('Your password').fill(password)
    await press(setUp.getByRole('button', { name: 'Next' }))
    await setUp.getByRole('img', { name: /QR code/ }).waitFor()
    await look('Turn on two-factor sign-in')
    const secret = (await setUp.locator('code').first().textContent()) ?? ''
    await setUp.getByLabel('Code of the app').fill(new TOTP({ secret: secret.replaceAll(' ', '') }).generate())
    await press(setUp.getByRole('button', { name: 'Turn on' }))
    const codes = await look('Save your recovery codes')
    const [recovery = ''] = await codes.locator('code').allTextContents()
    await codes.getByText('I have saved these codes').click()
    await press(codes.getByRole('button', { name: 'Done' }))
    await codes.waitFor({ state: 'detached' })
    await press(button('New recovery codes')(page))
    await look('New recovery codes')
    await page.keyboard.press('Escape')
    await press(button('Turn off')(page))
    const off = await look('Turn off two-factor sign-in')
    await off.getByLabel('Your password').fill(password)
    await off.getByLabel('Code').fill(recovery)
    await press(off.getByRole('button', { name: 'Turn off' }))
    await off.waitFor({ state: 'detached' })
    expect(findings).toEqual([])
  }, 400_000)

  it('of a team is accessible', async () => {
    const { db } = console.stack
    const owner = await console.person()
    const { id } = await db
      .insertInto('workspace')
      .values({ name: 'Shop', kind: 'team', plan: 'pro' })
      .returning('id')
      .executeTakeFirstOrThrow()
    const join = { workspace_id: id, user_id: owner.userId, role: 'owner' as const }
    await db.insertInto('membership').values(join).execute()
    const { email } = await console.person({ member: { workspaceId: id, role: 'admin' } })
    const enter = async (page: Page): Promise<void> => {
      const open = page.getByRole('button', { name: 'Open', exact: true })
      // A session that has switched stays in the team.
      await open.or(page.getByRole('tab', { name: 'Members' })).waitFor()
      if (await open.isVisible()) await open.click()
      await page.getByRole('tab', { name: 'Members' }).waitFor()
    }
    const settings = async (page: Page): Promise<void> => {
      await enter(page)
      await tab('Settings')(page)
    }
    const actions = button(`Actions for ${email}`)
    const dialogs: Dialog[] = [
      { name: 'Create a team', path: '/team', before: enter, opener: button('New team') },
      { name: /^Transfer the team to/, path: '/team', before: enter, opener: actions, entry: 'Transfer the team' },
      { name: /^Remove .*\?$/, path: '/team', before: enter, opener: actions, entry: 'Remove' },
      { name: /^Delete the team/, path: '/team', before: settings, opener: button('Delete team') },
    ]
    expect(await checkEach(dialogs, owner)).toEqual([])
  }, 400_000)

  it('of payments is accessible', async () => {
    const payer = await console.person({ plan: 'free', credits: 0 })
    const page = await console.openSignedIn({ person: payer })
    await page.goto('/billing')
    await page.getByRole('button', { name: /^Buy small/i }).click()
    await page.getByRole('button', { name: /^Pay / }).click()
    await page.getByRole('heading', { name: 'The order is paid' }).waitFor()
    await page.goto('/billing')
    await page
      .getByRole('button', { name: /^Subscribe to / })
      .first()
      .click()
    await page.getByRole('button', { name: /^Pay / }).click()
    await page.getByRole('heading', { name: 'The order is paid' }).waitFor()
    await page.context().close()
    const orders = (of: Page) => of.getByRole('button', { name: /^Actions for .*small/i })
    const dialogs: Dialog[] = [
      { name: 'Refund', path: '/billing', opener: orders, entry: 'Refund' },
      { name: 'Cancel the subscription?', path: '/billing', opener: button('Cancel subscription') },
    ]
    expect(await checkEach(dialogs, payer)).toEqual([])
  }, 400_000)

  it('of photos is accessible', async () => {
    await writeSetting(console.stack.db, 'dispatchPaused', true)
    const batch = await filled.createBatch()
    const dialogs: Dialog[] = [
      { name: 'From a URL', path: '/', opener: button('From a URL') },
      { name: 'Take a photo', path: '/', opener: button('Take a photo') },
      { name: /^Cancel the queued tasks/, path: `/batches/${batch}`, opener: button('Cancel queued tasks') },
    ]
    expect(await checkEach(dialogs, filled.person)).toEqual([])
  }, 400_000)
})

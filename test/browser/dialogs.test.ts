// Every dialog of the console, for people who see, hear or operate it differently: opened and closed by keyboard, and
// checked by axe in both themes, in forced colors and on a narrow screen.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { password } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { createClient } from '../support/client.ts'
import { photo, truncatedPng } from '../support/photos.ts'
import { until } from '../support/until.ts'
import { findProblems } from './support/axe.ts'
import { hasBrowser, type PageOptions } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { endSessions, watchToken } from './support/end-sessions.ts'
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
  /** The opener is a menu or a choice with this entry. */
  readonly entry?: string
}

const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name, exact: true })
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click()
const press = async (of: Locator): Promise<void> => {
  await of.focus()
  await of.press('Enter')
}

/** Records of folders in the browser. */
const countStored = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('matte-batches')
  opening.onerror = reject
  opening.onsuccess = () => {
    const stores = [...opening.result.objectStoreNames]
    const transaction = opening.result.transaction(stores)
    const counts = stores.map((name) => transaction.objectStore(name).count())
    transaction.oncomplete = () => resolve(counts.reduce((sum, { result }) => sum + result, 0))
  }
})`

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
        if (entry !== undefined) await press(entryOf(page, entry))
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
  const entryOf = (page: Page, name: string): Locator =>
    page.getByRole('menuitem', { name, exact: true }).or(page.getByRole('option', { name, exact: true }))
  const dialogOf = (page: Page, name: string | RegExp): Locator =>
    page.getByRole('dialog', { name }).or(page.getByRole('alertdialog', { name }))
  const letProofsPass = (userId: string) =>
    console.stack.db
      .updateTable('session')
      .set({ proved_at: sql<Date>`now() - interval '11 minutes'` })
      .where('user_id', '=', userId)
      .execute()
  async function checkOpen(page: Page): Promise<unknown[]> {
    const isInside = `[...document.querySelectorAll('[data-modal]')].at(-1).contains(document.activeElement)`
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
    const admin = await console.person({ member: { workspaceId: id, role: 'admin' } })
    const { email } = admin
    const enter = async (page: Page): Promise<void> => {
      const open = page.getByRole('button', { name: 'Open', exact: true })
      // A session that has switched stays in the team.
      await open.or(page.getByRole('tab', { name: 'Settings' })).waitFor()
      if (await open.isVisible()) await open.click()
      await page.getByRole('tab', { name: 'Settings' }).waitFor()
    }
    const settings = async (page: Page): Promise<void> => {
      await enter(page)
      await tab('Settings')(page)
    }
    const actions = button(`Actions for ${email}`)
    const role = (page: Page) => page.getByRole('button', { name: `Role of ${email}` })
    const dialogs: Dialog[] = [
      { name: `Make ${email} Member?`, path: '/team', before: enter, opener: role, entry: 'Member' },
      { name: 'Create a team', path: '/team', before: enter, opener: button('New team') },
      { name: /^Transfer the team to/, path: '/team', before: enter, opener: actions, entry: 'Transfer the team' },
      { name: /^Remove .*\?$/, path: '/team', before: enter, opener: actions, entry: 'Remove' },
      { name: /^Delete the team/, path: '/team', before: settings, opener: button('Delete team') },
    ]
    expect(await checkEach(dialogs, owner)).toEqual([])
    const leaving: Dialog[] = [
      { name: 'Leave this team?', path: '/team', before: enter, opener: actions, entry: 'Leave the team' },
      { name: 'Leave this team?', path: '/team', before: settings, opener: button('Leave the team') },
    ]
    expect(await checkEach(leaving, admin)).toEqual([])

    const roles = async () =>
      Object.fromEntries(
        (await db.selectFrom('membership').selectAll().where('workspace_id', '=', id).execute()).map((one) => [
          one.user_id,
          one.role,
        ]),
      )
    const ofOwner = await console.openSignedIn({ person: owner })
    await ofOwner.goto('/team')
    await enter(ofOwner)
    await press(role(ofOwner))
    await press(entryOf(ofOwner, 'Member'))
    const demotion = dialogOf(ofOwner, `Make ${email} Member?`)
    await press(demotion.getByRole('button', { name: 'Change role' }))
    await demotion.waitFor({ state: 'detached' })
    await until('the role has changed', async () => (await roles())[admin.userId] === 'member')
    await role(ofOwner).getByText('Member', { exact: true }).waitFor()

    // The stream of the team's tasks ends.
    const ofMember = await console.openSignedIn({ person: admin, tolerates: [/status of 404/] })
    await ofMember.goto('/team')
    await settings(ofMember)
    await press(button('Leave the team')(ofMember))
    await press(dialogOf(ofMember, 'Leave this team?').getByRole('button', { name: 'Leave the team' }))
    await ofMember.getByRole('tab', { name: 'Settings' }).waitFor({ state: 'detached' })
    await ofMember.getByText('Work together in a team').waitFor()
    expect(await roles()).toEqual({ [owner.userId]: 'owner' })
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

  it.each(Object.entries(appearances))(
    'of an ended session is accessible, and leads back to what was typed, %s',
    async (_appearance, options) => {
      const someone = await console.person()
      const page = await console.openSignedIn({
        ...{ ...options, reducedMotion: 'reduce', person: someone },
        tolerates: [/status of 40[01]/],
      })
      const token = watchToken(page)
      await page.goto('/keys')
      await page.getByRole('button', { name: /^Account of / }).waitFor()
      await press(button('Create key')(page))
      const create = dialogOf(page, 'Create key')
      await create.getByLabel('Name').fill('typed before the end')
      await endSessions(console, { userId: someone.userId, token: token(), ending: 'expired' })
      await create.getByLabel('Name').press('Enter')
      const expired = dialogOf(page, 'Your session has ended')
      await expired.waitFor()
      expect(await checkOpen(page)).toEqual([])
      // There is no way around it but to sign in, or to leave.
      await page.keyboard.press('Escape')
      await expired.getByLabel('Password', { exact: true }).and(page.locator(':focus')).waitFor()
      await page.keyboard.type('not the password')
      await page.keyboard.press('Enter')
      await expired.getByRole('alert').waitFor()
      expect(await checkOpen(page)).toEqual([])
      await expired.getByLabel('Password', { exact: true }).fill(password)
      await page.keyboard.press('Enter')
      await expired.waitFor({ state: 'detached' })
      expect(await create.getByLabel('Name').inputValue()).toBe('typed before the end')
      expect(await checkOpen(page)).toEqual([])
      await create.getByLabel('Name').press('Enter')
      await page.getByRole('row', { name: 'typed before the end' }).waitFor()
    },
    400_000,
  )

  it.each(Object.entries(appearances))(
    'of a proof is accessible, and the request that needs it goes on, %s',
    async (_appearance, options) => {
      const someone = await console.person()
      const page = await console.openSignedIn({
        ...{ ...options, reducedMotion: 'reduce', person: someone },
        tolerates: [/status of 40[03]/],
      })
      await page.goto('/keys')
      await page.getByRole('button', { name: /^Account of / }).waitFor()
      await press(button('Create key')(page))
      const create = dialogOf(page, 'Create key')
      await create.getByLabel('Name').fill('after a proof')
      await letProofsPass(someone.userId)
      await create.getByLabel('Name').press('Enter')
      const proof = dialogOf(page, 'Confirm that it is you')
      await proof.waitFor()
      expect(await checkOpen(page)).toEqual([])
      // Canceled: nothing is created, and nothing that was typed is lost.
      await page.keyboard.press('Escape')
      await proof.waitFor({ state: 'detached' })
      await create.getByLabel('Name').and(page.locator(':focus')).waitFor()
      expect(await create.getByLabel('Name').inputValue()).toBe('after a proof')
      expect(await create.getByRole('alert').count()).toBe(0)
      expect(await checkOpen(page)).toEqual([])

      await page.keyboard.press('Enter')
      await proof.getByLabel('Your password').and(page.locator(':focus')).waitFor()
      await page.keyboard.type('not the password')
      await page.keyboard.press('Enter')
      await proof.getByText('This is not your password.').waitFor()
      expect(await checkOpen(page)).toEqual([])
      await proof.getByLabel('Your password').fill(password)
      await page.keyboard.press('Enter')
      await proof.waitFor({ state: 'detached' })
      await page.getByRole('row', { name: 'after a proof' }).waitFor()
    },
    400_000,
  )

  it('of a proof takes a code, in German, and saves the data of the account then', async () => {
    const someone = await console.person()
    const page = await console.openSignedIn({ person: someone, tolerates: [/status of 40[03]/] })
    const factor = await enableSecondFactor(console.stack.db, someone.client)
    await page.evaluate(`localStorage.setItem('matte-locale', 'de')`)
    await page.goto('/account')
    await tab('Ihre Daten')(page)
    await letProofsPass(someone.userId)
    await press(button('Ihre Daten herunterladen')(page))
    const proof = dialogOf(page, 'Bestätigen Sie, dass Sie es sind')
    await press(proof.getByRole('button', { name: 'Code der Zwei-Faktor-Anmeldung verwenden' }))
    await proof.getByLabel('Code', { exact: true }).fill(await factor.nextCode())
    expect(await checkOpen(page)).toEqual([])
    const saving = page.waitForEvent('download')
    await page.keyboard.press('Enter')
    await proof.waitFor({ state: 'detached' })
    expect((await saving).suggestedFilename()).toBe('matte-export.json')
  }, 400_000)

  it('of refusals is accessible, after retrying and canceling many', async () => {
    const { db } = console.stack
    const someone = await console.person()
    const key = generateApiKey()
    await insertApiKey(db, key, { workspaceId: someone.workspaceId, name: 'shop', scopes, expiresAt: null })
    const client = createClient(console.url, key.key)
    const create = async (fileName: string, bytes: Buffer): Promise<string> =>
      (await client.createTask({ imageUrl: await client.upload(bytes, { fileName }) })).id
    const statuses = async () =>
      (await db.selectFrom('task').select('status').where('workspace_id', '=', someone.workspaceId).execute())
        .map(({ status }) => status)
        .sort()
    await create('torn-1.png', truncatedPng())
    await create('torn-2.png', truncatedPng())
    await until('both have failed', async () => (await statuses()).join() === 'failed,failed')
    await writeSetting(db, 'dispatchPaused', true)
    onTestFinished(() => writeSetting(db, 'dispatchPaused', false))
    // The plan allows two open tasks, so one retry is accepted.
    const waiting = await create('waiting.png', photo('coffee.png'))

    const narrow = { ...appearances['dark and 320 pixels wide'], reducedMotion: 'reduce' } as const
    const page = await console.openSignedIn({ ...narrow, person: someone, tolerates: [/status of 40[09]/] })
    await page.goto('/gallery')
    await press(button('Select all loaded')(page))
    await press(button('Retry 2')(page))
    const refused = dialogOf(page, 'Refused by the service: 1')
    await refused
      .getByRole('listitem')
      .getByText(/^torn-\d\.png: Your plan allows /)
      .waitFor()
    expect(await checkOpen(page)).toEqual([])
    await page.keyboard.press('Escape')
    await refused.waitFor({ state: 'detached' })
    await page.getByText('Queued again: 1').waitFor()
    expect(await statuses()).toEqual(['failed', 'queued', 'queued'])

    // One of them is done a moment before its cancellation arrives.
    await page.route(`**/tasks/images/${waiting}`, async (route) => {
      if (route.request().method() !== 'DELETE') return route.continue()
      await until('the other is canceled', async () => (await statuses()).includes('canceled'))
      await writeSetting(db, 'dispatchPaused', false)
      await until('this one is done', async () => (await statuses()).includes('succeeded'))
      return route.continue()
    })
    await press(button('Cancel 2')(page))
    await refused
      .getByRole('listitem')
      .getByText(/^waiting\.png: /)
      .waitFor()
    expect(await checkOpen(page)).toEqual([])
    await page.keyboard.press('Escape')
    await refused.waitFor({ state: 'detached' })
    await page.getByText('Canceled: 1').waitFor()
    expect(await statuses()).toEqual(['canceled', 'failed', 'succeeded'])
    // The button that opened the dialog is gone; its bar has the focus.
    const bar = page.getByRole('region', { name: '3 selected' })
    await bar.and(page.locator(':focus')).waitFor()
    await press(button('Clear selection')(page))
    await bar.waitFor({ state: 'detached' })
    await page.getByRole('gridcell').and(page.locator(':focus')).waitFor()
  }, 400_000)

  it('of a folder is accessible, and forgets the folder but not its tasks', async () => {
    const { db } = console.stack
    const someone = await console.person()
    const narrow = { ...appearances['dark and 320 pixels wide'], reducedMotion: 'reduce' } as const
    const page = await console.openSignedIn({ ...narrow, person: someone })
    await page.goto('/batches')
    const file = { name: 'coffee.png', mimeType: 'image/png', buffer: photo('coffee.png') }
    await page.getByLabel('Choose photos').setInputFiles(file)
    await page.getByText('1 photo, ').waitFor()
    await press(button('Start')(page))
    await page.getByText('Finished', { exact: true }).waitFor()
    await button('Download 1 result')(page).waitFor()
    expect(await page.evaluate(countStored)).toBeGreaterThan(0)
    const remove = button('Remove from this list')
    const asked = dialogOf(page, 'Remove this folder from the list?')
    await press(remove(page))
    await asked.waitFor()
    expect(await checkOpen(page)).toEqual([])
    await page.keyboard.press('Escape')
    await asked.waitFor({ state: 'detached' })
    await remove(page).and(page.locator(':focus')).waitFor()
    await press(remove(page))
    await press(asked.getByRole('button', { name: 'Remove from this list' }))
    const runs = page.getByRole('heading', { name: 'Folders of this browser' })
    await runs.waitFor({ state: 'detached' })
    // Nothing of it is left for a reload.
    expect(await page.evaluate(countStored)).toBe(0)
    const tasks = await db.selectFrom('task').select('status').where('workspace_id', '=', someone.workspaceId).execute()
    expect(tasks).toEqual([{ status: 'succeeded' }])
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

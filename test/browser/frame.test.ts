// Parts of every page: short notes, the number of unread notifications, and times in the zone of the profile.
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { truncatedPng } from '../support/photos.ts'
import { until } from '../support/until.ts'
import { findProblems } from './support/axe.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

describe.skipIf(!hasBrowser('frame.test.ts'))('the frame of the pages', () => {
  const console = useConsole()

  const note = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text })
  const isFocused = async (one: Locator) => (await one.and(one.page().locator(':focus')).count()) > 0
  const accountButton = (page: Page) => page.getByRole('button', { name: /^Account of / })
  const openAccount = async (page: Page, tab: string): Promise<void> => {
    await page.goto('/account')
    await accountButton(page).waitFor()
    await page.getByRole('tab', { name: tab, exact: true }).click()
  }

  it('reads a note out, and keyboard users close it', async () => {
    const page = await console.openSignedIn({ reducedMotion: 'reduce' })
    await openAccount(page, 'Profile')
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Name').press('Enter')
    const saved = note(page, 'Saved')
    await saved.waitFor()
    expect(await findProblems(page)).toEqual([])
    // F6 moves between the regions of a page, and a note stays while it has the focus.
    await page.keyboard.press('F6')
    const notes = page.getByRole('region', { name: /notification/ })
    await notes.and(page.locator(':focus')).or(notes.locator(':focus')).waitFor()
    const close = notes.getByRole('button', { name: 'Close' })
    for (let step = 0; step < 3 && !(await isFocused(close)); step++) await page.keyboard.press('Tab')
    expect(await isFocused(close)).toBe(true)
    await page.keyboard.press('Enter')
    await saved.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement !== document.body')).toBe(true)
  })

  it.each([
    ['on a wide screen', { width: 1_280, height: 900 }],
    ['320 pixels wide', { width: 320, height: 568 }],
  ])('keeps a note of a failure in front of a dialog, %s', async (_name, viewport) => {
    const page = await console.openSignedIn({ reducedMotion: 'reduce', viewport, tolerates: [/ERR_FAILED/] })
    await openAccount(page, 'Notifications')
    await page.route('**/notifications/preferences', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    const setting = page.getByRole('switch', { name: 'In the console: Image failed' })
    expect(await setting.isChecked()).toBe(true)
    await setting.focus()
    await setting.press(' ')
    const failure = page.getByRole('alert')
    await failure.waitFor()
    // The change is taken back.
    expect(await setting.isChecked()).toBe(true)

    await page.getByRole('tab', { name: 'Sessions' }).click()
    const opener = page.getByRole('button', { name: 'End all sessions' })
    await opener.focus()
    await opener.press('Enter')
    const dialog = page
      .getByRole('alertdialog', { name: 'End all sessions' })
      .or(page.getByRole('dialog', { name: 'End all sessions' }))
    await dialog.waitFor()
    expect(await findProblems(page)).toEqual([])
    const close = page.getByRole('region', { name: /notification/ }).getByRole('button', { name: 'Close' })
    // By its role: a dialog hides the rest of the page from screen readers.
    await failure.waitFor()
    const coversNothing = `(() => {
      const box = (element) => element.getBoundingClientRect()
      const note = box(document.querySelector('[role="alert"]'))
      return [...document.querySelectorAll('[data-modal] button')].map(box).every((button) =>
        button.bottom <= note.top || button.top >= note.bottom || button.right <= note.left || button.left >= note.right)
    })()`
    expect(await page.evaluate(coversNothing)).toBe(true)
    // A click reaches the note, and the dialog stays.
    await close.click()
    await failure.waitFor({ state: 'detached' })
    await dialog.waitFor()
  })

  const badge = (page: Page, unread: number) =>
    page.getByRole('link', {
      name: unread === 0 ? 'Notifications' : unread === 1 ? '1 unread notification' : `${unread} unread notifications`,
      exact: true,
    })

  it('counts notifications of work elsewhere, and what is read elsewhere, without a reload', async () => {
    const person = await console.person()
    const page = await console.openSignedIn({ person })
    await page.goto('/credits')
    await badge(page, 0).waitFor()
    const other = await console.openSignedIn({ person })
    for (const count of [1, 2]) {
      await other.goto('/')
      await accountButton(other).waitFor()
      const file = { name: 'torn.png', mimeType: 'image/png', buffer: truncatedPng() }
      await other.getByLabel('Choose a photo').setInputFiles(file)
      await other.getByRole('main').getByRole('alert').waitFor()
      await badge(page, count).waitFor()
    }
    expect(await page.evaluate('performance.getEntriesByType("navigation")[0].type')).toBe('navigate')

    await badge(page, 2).click()
    await page
      .getByRole('button', { name: /^Mark as read: / })
      .first()
      .click()
    await badge(page, 1).waitFor()
  })

  it('counts events that no task brings, on its next look', async () => {
    const person = await console.person({ plan: 'free', credits: 0 })
    const page = await console.open()
    await page.clock.install()
    await console.signIn(page, person)
    await badge(page, 0).waitFor()
    const buyer = await console.openSignedIn({ person })
    await buyer.goto('/billing')
    await buyer.getByRole('button', { name: /^Buy small/i }).click()
    await buyer.getByRole('button', { name: /^Pay / }).click()
    await buyer.getByRole('heading', { name: 'The order is paid' }).waitFor()
    await until('the service has made the notification', async () => {
      const { data } = await person.client.call<{ unread: number }>('GET', '/notifications/unread-count')
      return data.unread > 0
    })
    await badge(page, 0).waitFor()
    await page.clock.fastForward(31_000)
    await page.getByRole('link', { name: /^\d unread notifications?$/ }).waitFor()
  })

  it('shows times in the zone of the profile as soon as it is chosen', async () => {
    const person = await console.person()
    const page = await console.openSignedIn({ person, timezoneId: 'America/Lima' })
    const { created_at: at } = await console.stack.db
      .selectFrom('session')
      .select('created_at')
      .where('user_id', '=', person.userId)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow()
    const timeIn = (timeZone: string) =>
      new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', timeZone }).format(at)
    await openAccount(page, 'Sessions')
    // The profile still has the default, UTC.
    await page.getByText(timeIn('America/Lima')).first().waitFor()

    await page.getByRole('tab', { name: 'Profile' }).click()
    const zone = page.getByRole('button', { name: /Time zone/ })
    await zone.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'Asia/Tokyo' }).press('Enter')
    await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
    await note(page, 'Saved').waitFor()
    await page.getByRole('tab', { name: 'Sessions' }).click()
    await page.getByText(timeIn('Asia/Tokyo')).first().waitFor()
    expect(await page.getByText(timeIn('America/Lima')).count()).toBe(0)
    await page.reload()
    await page.getByRole('tab', { name: 'Sessions' }).click()
    await page.getByText(timeIn('Asia/Tokyo')).first().waitFor()
  })
})

// Every page in every theme and on a narrow screen, for people who see, hear or operate it differently.
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findProblems } from './support/axe.ts'
import { hasBrowser, type PageOptions } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { type Filled, fillPages, onEachPage } from './support/pages.ts'

describe.skipIf(!hasBrowser('pages.test.ts'))('every page', () => {
  const console = useConsole()
  let filled: Filled
  beforeAll(async () => {
    filled = await fillPages(console)
  })

  type Check = (page: Page, path: string) => Promise<void>
  const onEach = (options: PageOptions, check: Check, language: 'en' | 'de' = 'en'): Promise<void> =>
    onEachPage(console, { filled, options, language }, (page, { path }) => check(page, path))

  it.each([
    ['in the light theme', { colorScheme: 'light' }],
    ['in the dark theme', { colorScheme: 'dark' }],
    ['in forced colors', { forcedColors: 'active' }],
    ['320 pixels wide', { viewport: { width: 320, height: 640 } }],
  ] as const)(
    'has no findings of axe %s',
    async (_name, options) => {
      const findings: Record<string, unknown> = {}
      // Transitions would show colours between two states.
      await onEach({ ...options, reducedMotion: 'reduce' }, async (page, path) => {
        const found = await findProblems(page)
        if (found.length > 0) findings[path] = found
      })
      expect(findings).toEqual({})
    },
    400_000,
  )

  it.each([
    ['320 pixels wide', { viewport: { width: 320, height: 640 } }, 'en'],
    ['320 pixels wide in German', { viewport: { width: 320, height: 640 } }, 'de'],
    ['in forced colors', { forcedColors: 'active', viewport: { width: 375, height: 700 } }, 'en'],
  ] as const)(
    'needs no sideways scrolling and cuts off no state or time %s',
    async (_name, options, language) => {
      const faults: unknown[] = []
      const check: Check = async (page, path) => {
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if (overflow !== 0) faults.push([path, 'is wide', overflow])
        const cutOff = await page.evaluate(`[...document.querySelectorAll('time, time ~ *, :has(~ time)')]
          .filter((one) => {
            const [inner, box] = [one, one.parentElement].map((each) => each.getBoundingClientRect())
            return inner.width === 0 || inner.bottom > box.bottom + 1 || inner.right > box.right + 1
          })
          .map((one) => one.textContent)`)
        if ((cutOff as string[]).length > 0) faults.push([path, 'cuts off', cutOff])
      }
      await onEach({ ...options, reducedMotion: 'reduce' }, check, language)
      expect(faults).toEqual([])
    },
    300_000,
  )
})

describe.skipIf(!hasBrowser('pages.test.ts'))('a person without a mouse', () => {
  const console = useConsole()

  it('skips to the content, and reaches every control of the playground', async () => {
    const page = await console.openSignedIn()
    await page.goto('/')
    // The page resumes the session first, and draws itself again.
    await page.getByRole('button', { name: /^Account of / }).waitFor()
    await page.getByRole('button', { name: 'Cup of coffee' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('content')
    const wanted = await page.evaluate(`[...document.querySelectorAll('main button, main a, main [type=range]')]
      .filter((element) => element.checkVisibility() && element.tabIndex >= 0).map((element) => element.outerHTML)`)
    const reached = new Set<unknown>()
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press('Tab')
      const element = await page.evaluate("document.activeElement.closest('main') && document.activeElement.outerHTML")
      if (element === null) break
      reached.add(element)
    }
    // Each group of tabs is one stop, so tabs are not in the list.
    expect((wanted as string[]).length).toBeGreaterThan(5)
    const plain = (html: unknown) => String(html).replaceAll(/ data-(focused|focus-visible)="[^"]*"/g, '')
    const stops = new Set([...reached].map(plain))
    expect((wanted as string[]).map(plain).filter((html) => !stops.has(html))).toEqual([])
  })

  it('closes a dialog and a menu with Escape, and goes on at the button that opened it', async () => {
    const page = await console.openSignedIn({ reducedMotion: 'reduce' })
    await page.goto('/keys')
    const create = page.getByRole('button', { name: 'Create key' })
    await create.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create key' }).waitFor()
    expect(await findProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await create.and(page.locator(':focus')).waitFor()

    const account = page.getByRole('button', { name: /^Account of / })
    await account.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    expect(await findProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await account.and(page.locator(':focus')).waitFor()
  })
})

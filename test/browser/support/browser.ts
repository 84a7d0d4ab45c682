// Debian's Chromium, and pages that collect everything that a user or an operator would call an error.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { reportSkip } from '../../support/report/skips.ts'

export const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** False, with a reported reason, on a machine without a browser. */
export function hasBrowser(matching: string): boolean {
  if (existsSync(chromiumPath)) return true
  reportSkip({ matching, reason: `there is no ${chromiumPath}; $CHROMIUM names another` })
  return false
}

export type PageOptions = BrowserContextOptions & {
  /** Errors that the test provokes, such as a refused request. Others fail the test. */
  readonly tolerates?: readonly RegExp[]
}

export type Tabs = {
  /** A page of a fresh browser profile, closed at the end of the test. */
  open(options?: PageOptions): Promise<Page>
  /** Another tab of the same profile. */
  beside(page: Page, options?: Pick<PageOptions, 'tolerates'>): Promise<Page>
}

/** A bound against hanging, far above the needs of a slow machine. */
const waitMs = 60_000

/** A browser for the tests of the enclosing block. */
export function useBrowser(baseUrl: () => string): Tabs {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  return {
    open: async ({ tolerates, ...options } = {}) => {
      if (browser === undefined) throw new Error('the browser runs inside tests and hooks only')
      const context = await browser.newContext({
        baseURL: baseUrl(),
        locale: 'en-US',
        viewport: { width: 1_280, height: 900 },
        ...options,
      })
      onTestFinished(() => context.close())
      context.setDefaultTimeout(waitMs)
      await context.addInitScript(reportViolations)
      return watched(await context.newPage(), tolerates)
    },
    beside: async (page, { tolerates } = {}) => watched(await page.context().newPage(), tolerates),
  }
}

/** Chromium names a blocked part on the console too, but without the directive in every case. */
const reportViolations = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('content security policy', violatedDirective, blockedURI))`

function watched(page: Page, tolerates: readonly RegExp[] = []): Page {
  const complaints: string[] = []
  const note = (text: string): void => {
    if (!tolerates.some((pattern) => pattern.test(text))) complaints.push(text)
  }
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) note(`${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => note(error.message))
  page.on('dialog', (dialog) => {
    note(`a dialog of a script: ${dialog.message()}`)
    void dialog.dismiss()
  })
  onTestFinished(() => expect(complaints).toEqual([]))
  return page
}

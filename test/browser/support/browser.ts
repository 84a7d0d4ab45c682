// Debian's Chromium, and pages that collect everything that a user or an operator would call an error.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest'
import { reportSkip } from '../../support/report/skips.ts'
import { chromiumPath } from './chromium.ts'

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
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') await showPage(page, task.name)
    expect(complaints).toEqual([])
  })
  return page
}

/** Prints what the page showed when the test failed, and keeps a picture in the folder of the run. */
async function showPage(page: Page, name: string): Promise<void> {
  const file = join(inject('runDir'), `${name.replaceAll(/\W+/g, '-').slice(0, 60)}.png`)
  await page.screenshot({ path: file, timeout: 10_000 }).catch(() => undefined)
  const content = await page.locator('body').ariaSnapshot({ timeout: 10_000 }).catch(String)
  process.stdout.write(`--- ${page.url()}, in ${file}\n${content}\n`)
}

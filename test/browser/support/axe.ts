// axe in a page of the test: rules of accessibility that a program can check.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Without the texts that React Aria puts there for seconds, for a screen reader to speak. */
const checked = "{ exclude: ['[data-live-announcer]'] }"

/** Broken rules with the elements that break them; empty: none. */
export async function findProblems(page: Page): Promise<unknown[]> {
  // In the context of the test, since the page's policy forbids other scripts.
  await page.evaluate(axe)
  return await page.evaluate(`axe.run(${checked}, { preload: false }).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary)]))`)
}

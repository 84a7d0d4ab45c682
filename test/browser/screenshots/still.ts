// Makes two pictures of a page comparable: texts that depend on the hour, on chance or on the machine's speed become
// fixed ones of the same length, and images are complete.
import type { Page } from 'playwright-core'
import { until } from '../../support/until.ts'

const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'

/** The first match counts. */
const fixed: readonly (readonly [pattern: string, text: string])[] = [
  ['[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}', '0190c0de-0000-7000-8000-00000000cafe'],
  ['\\b[0-9a-f]{8}\\b', '0190c0de'],
  ['…\\w{4}$', '…cafe'],
  [`(${months})[a-z]* \\d+, \\d{4}, \\d+:\\d\\d(:\\d\\d)?\\s[AP]M`, 'Nov 16, 2026, 9:41:00 AM'],
  [`(${months})[a-z]* \\d+, \\d{4}`, 'Nov 16, 2026'],
  ['\\b\\d{4}-\\d\\d-\\d\\d\\b', '2026-11-16'],
  ['\\b\\d+:\\d\\d(:\\d\\d)?\\s[AP]M', '9:41:00 AM'],
  ['\\d+ ?(seconds?|minutes?|sec|min|s|m)\\.? ago|in \\d+ (second|minute)s?', 'now'],
  ['\\b\\d[\\d,.]* (ms|s)\\b', '123 ms'],
]

const replaceTexts = `((fixed) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    for (const [pattern, text] of fixed) {
      if (!new RegExp(pattern).test(node.data)) continue
      node.data = node.data.replaceAll(new RegExp(pattern, 'g'), text)
      break
    }
  }
})(${JSON.stringify(fixed)})`

const areImagesComplete = `[...document.images].every(({ src, complete }) => src === '' || complete)`

export async function makeStill(page: Page): Promise<void> {
  await until('the images are loaded', () => page.evaluate(areImagesComplete))
  await page.evaluate('document.fonts.ready.then(() => undefined)')
  await page.evaluate(replaceTexts)
}

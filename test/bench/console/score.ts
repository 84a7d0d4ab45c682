// One run of Lighthouse in a browser that listens for it.
import lighthouse, { desktopConfig } from 'lighthouse'

export const categories = ['performance', 'accessibility', 'best-practices'] as const
export type Category = (typeof categories)[number]

/** Lighthouse's two presets: a desktop, and a phone with a slow processor on a slow network. Both are simulated. */
export const devices = ['desktop', 'mobile'] as const
export type Device = (typeof devices)[number]

export type Scores = Readonly<Record<Category, number>> & {
  /** Audits below 0.9 that count. */
  readonly findings: Readonly<Record<Category, readonly string[]>>
  /** First and largest paint, and milliseconds of blocking. */
  readonly times: string
}

type Run = { readonly url: string; readonly port: number; readonly device: Device }

const attempts = 3

/** On a busy machine Chromium may lose the beginning of a trace, which says nothing about the page. */
async function run({ url, port, device }: Run) {
  const flags = { port, onlyCategories: [...categories], logLevel: 'error' as const }
  for (let attempt = 1; ; attempt++) {
    const result = await lighthouse(url, flags, device === 'desktop' ? desktopConfig : undefined)
    if (result === undefined) throw new Error(`Lighthouse reported nothing about ${url}`)
    const { runtimeError } = result.lhr
    if (runtimeError === undefined) return result.lhr
    if (attempt === attempts || runtimeError.code !== 'NO_NAVSTART') {
      throw new Error(`Lighthouse: ${runtimeError.message}`)
    }
  }
}

export async function score({ url, port, device }: Run): Promise<Scores> {
  const lhr = await run({ url, port, device })
  if (new URL(lhr.finalDisplayedUrl).pathname !== new URL(url).pathname) {
    throw new Error(`${url} led to ${lhr.finalDisplayedUrl}: the session was not resumed`)
  }
  const findings = (category: Category): string[] =>
    (lhr.categories[category]?.auditRefs ?? [])
      .filter(({ id, weight }) => weight > 0 && (lhr.audits[id]?.score ?? 1) < 0.9)
      .map(({ id }) => `${id} ${lhr.audits[id]?.displayValue ?? ''}`.trim())
  const byCategory = <T>(of: (category: Category) => T) =>
    Object.fromEntries(categories.map((category) => [category, of(category)])) as Record<Category, T>
  const shown = (id: string) => lhr.audits[id]?.displayValue ?? '?'
  return {
    ...byCategory((category) => lhr.categories[category]?.score ?? Number.NaN),
    findings: byCategory(findings),
    times: `first paint ${shown('first-contentful-paint')}, largest ${shown('largest-contentful-paint')}, interactive ${shown('interactive')}, blocked ${shown('total-blocking-time')}, shift ${shown('cumulative-layout-shift')}`,
  }
}

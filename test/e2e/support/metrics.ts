// Metrics of a process, from its /metrics.
import type { TestProcess } from '../../support/processes.ts'

type Labels = Readonly<Record<string, string>>
type Sample = { readonly labels: Labels; readonly value: number }

export type Metrics = {
  /** Sum of a counter or gauge over all samples that have these labels. */
  sum(name: string, labels?: Labels): number
  samples(name: string, labels?: Labels): readonly Sample[]
  /** Upper bound of the histogram bucket with this quantile, in total or since `before`. NaN if empty. */
  quantile(name: string, share: number, labels?: Labels, before?: Metrics): number
}

/** Timeout, because a stopped process accepts connections and never responds. */
const limitMs = 2_000

export async function readMetrics({ healthUrl }: Pick<TestProcess, 'healthUrl'>): Promise<Metrics> {
  const text = await (await fetch(`${healthUrl}/metrics`, { signal: AbortSignal.timeout(limitMs) })).text()
  const found = new Map<string, Sample[]>()
  for (const [, name = '', inner = '', value = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const labels = Object.fromEntries([...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, of]) => [key, of]))
    found.set(name, [...(found.get(name) ?? []), { labels: labels as Labels, value: Number(value) }])
  }
  const samples = (name: string, labels: Labels = {}): readonly Sample[] =>
    (found.get(name) ?? []).filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
  const sum = (name: string, labels?: Labels): number =>
    samples(name, labels).reduce((total, { value }) => total + value, 0)
  return {
    samples,
    sum,
    quantile: (name, share, labels = {}, before) => {
      const counted = (sample: string, of?: Labels): number => sum(sample, of) - (before?.sum(sample, of) ?? 0)
      const wanted = counted(`${name}_count`, labels) * share
      const bounds = samples(`${name}_bucket`, labels).map(({ labels: { le = '' } }) => le)
      const reached = bounds.find((le) => counted(`${name}_bucket`, { ...labels, le }) >= wanted)
      return wanted === 0 || reached === undefined ? Number.NaN : Number(reached.replace('+Inf', 'Infinity'))
    },
  }
}

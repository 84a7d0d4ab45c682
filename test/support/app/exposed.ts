import { scrape, valuesOf } from '../metrics/exposed-metrics.ts'

/** The value of one series of a process, as its health port exposes it. */
export async function exposedAt(healthUrl: string, name: string, labels: Record<string, string>): Promise<number> {
  const [value] = valuesOf(await scrape(healthUrl), name, labels)
  if (value === undefined) throw new Error(`${name} ${JSON.stringify(labels)} is not exposed`)
  return value
}

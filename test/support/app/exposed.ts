import { scrape, valuesOf } from '../metrics/exposed-metrics.ts'

/** Value of one series on the health port of a process. */
export async function exposedAt(healthUrl: string, name: string, labels: Record<string, string>): Promise<number> {
  const [value] = valuesOf(await scrape(healthUrl), name, labels)
  if (value === undefined) throw new Error(`${name} ${JSON.stringify(labels)} is not exposed`)
  return value
}

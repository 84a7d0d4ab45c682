// Output of a scenario: one line per result.
const begun = performance.now()

export function print(line: string): void {
  process.stdout.write(`[e2e ${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s] ${line}\n`)
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Quantile `share` of the values; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

export const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

export type Backoff = { readonly baseMs: number; readonly maxMs: number }

/**
 * The pause after so many failures in a row: at most `baseMs`, doubling up to `maxMs`, and random in the upper half, so
 * that those who failed together do not come back together. 0 without a failure.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  if (failures <= 0) return 0
  // 2 ** 30 keeps the product a sane number however long the failures last.
  const longest = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30))
  return longest * (0.5 + Math.random() / 2)
}

/** `ms`, a tenth more or less: for what many processes do at regular times. */
export const jittered = (ms: number): number => ms * (0.9 + Math.random() * 0.2)

export type Backoff = { readonly baseMs: number; readonly maxMs: number }

/** Exponential backoff from `baseMs` to `maxMs`, random in its upper half. 0 without a failure. */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  if (failures <= 0) return 0
  const longest = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30))
  return longest * (0.5 + Math.random() / 2)
}

/** `ms` plus or minus a tenth, for periodic work of many processes. */
export const jittered = (ms: number): number => ms * (0.9 + Math.random() * 0.2)

import { setTimeout as wait } from 'node:timers/promises'

/** Waits for a condition; the limit is a bound against hanging. */
export async function until(isTrue: () => boolean, limitMs = 30_000): Promise<void> {
  const endsAtMs = Date.now() + limitMs
  while (!isTrue()) {
    if (Date.now() > endsAtMs) throw new Error(`still false after ${limitMs} ms: ${isTrue}`)
    await wait(20)
  }
}

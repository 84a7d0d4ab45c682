// Races of a promise with an abort or a timeout. They leave no listener or timer behind, so long-lived signals can be
// raced any number of times.
import { pause } from './service.ts'

/** The promise, or the signal's reason once aborted. The work continues, and its result is ignored. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Resolves with the promise or on abort; rejects only if the promise does. */
export async function settledOrAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await orAborted(work, signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  }
}

/** Resolves with the promise or after `ms`; rejects only if the promise does. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const settled = new AbortController()
  try {
    await Promise.race([work, pause(ms, settled.signal)])
  } finally {
    settled.abort()
  }
}

// A promise raced with an abort or a time limit. Whatever wins, no listener and no timer is left behind, so that a
// signal that lives as long as the process can be raced with any number of times.
import { pause } from './service.ts'

/**
 * The promise, or the signal's reason as soon as it is aborted. What is left behind goes on by itself; its end, good
 * or bad, concerns nobody any more.
 */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Resolves when the promise does or the signal is aborted, whichever is first; rejects with the promise alone. */
export async function settledOrAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await orAborted(work, signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  }
}

/** Resolves when the promise does or after `ms`, whichever is first; rejects with the promise alone. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const settled = new AbortController()
  try {
    await Promise.race([work, pause(ms, settled.signal)])
  } finally {
    settled.abort()
  }
}

/**
 * A thing with a start and a stop. Stop without start is safe, a second stop is safe, and stop waits until the
 * service's work has ended.
 */
export type Service = {
  readonly name: string
  start(): Promise<void> | void
  stop(): Promise<void> | void
  /** Takes no new work from now on, and waits for nothing. Called on all before the first is stopped. */
  stopTaking?(): void
}

/** A promise with its ends outside; for signals between a loop and those who wake it. */
export type Deferred<T> = { readonly promise: Promise<T>; readonly resolve: (value: T) => void }

export function deferred<T>(): Deferred<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { promise, resolve }
}

/** Resolves after `ms`, or at once when `signal` is aborted; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done, { once: true })
  })
}

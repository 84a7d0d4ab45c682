export type Service = {
  readonly name: string
  start(): Promise<void> | void
  stop(): Promise<void> | void
  /** Stops taking new work without waiting. Called on every service before the first is stopped. */
  stopTaking?(): void
}

export type Deferred<T> = { readonly promise: Promise<T>; readonly resolve: (value: T) => void }

export function deferred<T>(): Deferred<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { promise, resolve }
}

/** Resolves after `ms`, or on abort; never rejects. */
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

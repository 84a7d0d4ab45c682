type Work<T> = (signal: AbortSignal) => Promise<T>

/**
 * The results of all, done at once. When one fails the others are aborted; its error comes once they have ended, so
 * that nothing still reads what the caller gives up.
 */
export async function allOrNone<T>(signal: AbortSignal, works: readonly Work<T>[]): Promise<T[]> {
  const failing = new AbortController()
  const either = AbortSignal.any([signal, failing.signal])
  const results = works.map((work) =>
    work(either).catch((error: unknown) => {
      failing.abort(error)
      throw error
    }),
  )
  await Promise.allSettled(results)
  // That of the first: those that were aborted say nothing but that.
  failing.signal.throwIfAborted()
  return await Promise.all(results)
}

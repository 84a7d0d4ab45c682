// One attempt with a deadline. `touch` restarts the time, so a slow transfer that moves is not cut.

export type Deadline = { readonly signal: AbortSignal; readonly touch: () => void }

export class DeadlinePassed extends Error {}

/** Not AbortSignal.any: Node 20 leaks its listeners while a long-lived signal is alive. */
export async function withDeadline<T>(
  ms: number,
  outer: AbortSignal | undefined,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const pass = () => inner.abort(new DeadlinePassed(`no answer within ${ms} ms`))
  const abort = () => inner.abort(outer?.reason)
  let timer = setTimeout(pass, ms)
  const touch = () => {
    clearTimeout(timer)
    timer = setTimeout(pass, ms)
  }
  if (outer?.aborted) abort()
  outer?.addEventListener('abort', abort)
  try {
    return await run({ signal: inner.signal, touch })
  } catch (error) {
    throw inner.signal.aborted ? inner.signal.reason : error
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}

/** Resolves after the time; rejects with the signal's reason as soon as it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

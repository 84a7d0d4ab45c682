/** Aborts after `ms` or with `outer`. */
export function deadlineWithin(ms: number, outer: AbortSignal) {
  const controller = new AbortController()
  const { signal } = controller
  const stop = (): void => controller.abort(outer.reason)
  const timer = setTimeout(() => controller.abort(new Error('no complete answer in time')), ms)
  if (outer.aborted) stop()
  outer.addEventListener('abort', stop, { once: true })
  return {
    signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer)
      outer.removeEventListener('abort', stop)
    },
  }
}

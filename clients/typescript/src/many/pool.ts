// Runs inputs at once, up to a limit that may change, and yields what each run returns, first come first. It reads an
// input when there is room for it. A result that the caller has not taken occupies its room.
import { aborted } from '../http/answer-errors.ts'
import { sleep } from '../http/deadline.ts'

export type PoolOptions<I, R> = {
  readonly inputs: Iterable<I> | AsyncIterable<I>
  readonly limit: () => number
  /** Pause before the next start. */
  readonly pauseMs: () => number
  /** Never rejects. The signal aborts when the caller stops early, too. Undefined yields nothing. */
  readonly run: (input: I, index: number, signal: AbortSignal) => Promise<R | undefined>
  readonly signal: AbortSignal | undefined
}

export async function* runPool<I, R>({ inputs, limit, pauseMs, run, signal }: PoolOptions<I, R>): AsyncGenerator<R> {
  const iterator = Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]()
  const stopping = new AbortController()
  const changes = createPulse()
  const running = new Set<Promise<void>>()
  const ready: R[] = []
  let isFilling = false
  let started = 0
  let isExhausted = false
  let failure: { readonly cause: unknown } | undefined

  const stop = () => {
    stopping.abort(signal?.reason)
    changes.fire()
  }
  const start = (input: I) => {
    const one = run(input, started++, stopping.signal).then((result) => {
      running.delete(one)
      if (result !== undefined) ready.push(result)
      void fill()
      changes.fire()
    })
    running.add(one)
  }
  /** One at a time. Its end and the check that leads to it are one step, so a change in between is not missed. */
  const fill = async () => {
    if (isFilling) return
    isFilling = true
    try {
      while (!isExhausted && !stopping.signal.aborted && running.size + ready.length < limit()) {
        await sleep(Math.max(0, pauseMs()), stopping.signal)
        const { done = false, value } = await iterator.next()
        isExhausted = done
        if (done) changes.fire()
        else start(value)
      }
    } catch (cause) {
      failure = { cause }
      changes.fire()
    } finally {
      isFilling = false
    }
  }

  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  try {
    while (true) {
      if (stopping.signal.aborted) throw aborted(signal?.reason)
      if (failure) throw failure.cause
      const change = changes.next()
      void fill()
      const result = ready.shift()
      if (result !== undefined) yield result
      else if (isExhausted && running.size === 0) return
      else await change
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
    await Promise.allSettled(running)
    const returned = isExhausted ? undefined : iterator.return?.()
    // A generator that waits for its next input returns after that, which may be never.
    if (!isFilling) await returned
    else Promise.resolve(returned).catch(() => undefined)
  }
}

export type Pulse = {
  /** Resolves at the next `fire`. */
  next(): Promise<void>
  fire(): void
}

export function createPulse(): Pulse {
  let fire = () => {}
  const arm = () =>
    new Promise<void>((resolve) => {
      fire = resolve
    })
  let next = arm()
  return {
    next: () => next,
    fire: () => {
      const last = fire
      next = arm()
      last()
    },
  }
}

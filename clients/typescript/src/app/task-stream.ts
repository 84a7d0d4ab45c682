// The stream of task changes: reconnects with backoff, and resumes after the last change that the caller has taken.
import { MatteError } from '../error.ts'
import type { TaskChange } from '../generated/app.ts'
import { sleep } from '../http/deadline.ts'
import { retryDelayMs } from '../http/retry.ts'
import { chunksOf } from '../source.ts'
import { parseEventStream } from './event-stream.ts'

export type { TaskChange }

export type StreamOptions = {
  readonly signal: AbortSignal
  /** Id of a change of an earlier stream; changes after it come first. */
  readonly lastEventId?: string | undefined
  /** Called when a connection is open, and when it is lost. */
  readonly onConnection?: ((isOpen: boolean) => void) | undefined
}

type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/** The service sends a heartbeat after 15 s of silence at the latest. */
const silenceMsMax = 45_000

export async function* openTaskStream(open: Open, options: StreamOptions): AsyncGenerator<TaskChange> {
  const { signal, onConnection } = options
  let { lastEventId } = options
  for (let failures = 0; !signal.aborted; ) {
    const attempt = watchSilence(signal)
    try {
      const body = await open(lastEventId, attempt.signal)
      onConnection?.(true)
      for await (const { id, data } of parseEventStream(heard(body, attempt.hear))) {
        failures = 0
        if (data !== undefined) yield JSON.parse(data) as TaskChange // as the operation's schema says
        if (id !== undefined) lastEventId = id
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof MatteError && !error.retryable) throw error
    } finally {
      attempt.end()
    }
    onConnection?.(false)
    await sleep(retryDelayMs(failures++, undefined) ?? 0, signal).catch(() => undefined)
  }
}

/** A connection that is silent for too long is lost. */
function watchSilence(outer: AbortSignal) {
  const inner = new AbortController()
  const abort = () => inner.abort()
  let timer = setTimeout(abort, silenceMsMax)
  outer.addEventListener('abort', abort)
  return {
    signal: inner.signal,
    hear: () => {
      clearTimeout(timer)
      timer = setTimeout(abort, silenceMsMax)
    },
    end: () => {
      clearTimeout(timer)
      outer.removeEventListener('abort', abort)
      abort()
    },
  }
}

async function* heard(body: ReadableStream<Uint8Array>, hear: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunksOf(body)) {
    hear()
    yield chunk
  }
}

import { PassThrough, type Readable } from 'node:stream'

const everyBodyMs = 10_000
const perMebibyteMs = 10_000
const mebibyte = 1_048_576

/**
 * How long a body may take to arrive: 10 s, and 10 s more for each MiB that it says to have. One that does not say has
 * the time of a MiB; there is none larger (D3).
 */
export function bodyDeadlineMs(contentLength: string | undefined): number {
  return everyBodyMs + perMebibyteMs * (contentLength === undefined ? 1 : Number(contentLength) / mebibyte)
}

type Deadline = { readonly afterMs: number; readonly late: () => Error }

/** The same body, which fails with what `late` gives when it is not there in time. */
export function expectWithin({ afterMs, late }: Deadline, payload: Readable): Readable {
  const body = new PassThrough()
  const timer = setTimeout(() => body.destroy(late()), afterMs).unref()
  // Not `pipeline`, which would end the connection with the body, and no answer could be sent.
  payload.on('error', (error) => body.destroy(error))
  body.on('error', () => undefined) // whoever reads it may have given up before, for its length
  body.once('close', () => clearTimeout(timer))
  return payload.pipe(body)
}

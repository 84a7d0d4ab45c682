import { PassThrough, type Readable } from 'node:stream'

const everyBodyMs = 10_000
const perMebibyteMs = 10_000
const mebibyte = 1_048_576

/** 10 s plus 10 s per MiB of the announced length; 1 MiB if unknown, the largest body. */
export function bodyDeadlineMs(contentLength: string | undefined): number {
  return everyBodyMs + perMebibyteMs * (contentLength === undefined ? 1 : Number(contentLength) / mebibyte)
}

/** Bodies of doors hold memory meanwhile: 256 KiB/s, 2 Mbit/s. */
const perDoorMebibyteMs = 4_000

export const doorDeadlineMs = (bytes: number): number => everyBodyMs + perDoorMebibyteMs * (bytes / mebibyte)

type Deadline = { readonly afterMs: number; readonly late: () => Error }

/** Fails the body with `late()` when it is incomplete at the deadline. */
export function withDeadline({ afterMs, late }: Deadline, payload: Readable): Readable {
  const body = new PassThrough()
  const timer = setTimeout(() => body.destroy(late()), afterMs).unref()
  // Not `pipeline`, which would close the connection before the response is sent.
  payload.on('error', (error) => body.destroy(error))
  body.on('error', () => undefined) // the reader may have stopped at the body limit
  body.once('close', () => clearTimeout(timer))
  return payload.pipe(body)
}

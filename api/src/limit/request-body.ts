// Bounds of every body, whatever its route declares (D94): a deadline, joined chunks (incoming-body.ts), and an error
// for the reader when it must not go on.
import { PassThrough, type Readable } from 'node:stream'
import type { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BodyFault, IncomingBody } from './incoming-body.ts'

/** Largest JSON body; a batch of 1,000 object keys uses a sixth. */
export const bodyLimitBytes = 1_048_576

export type RawBody = {
  /** Larger bodies get no more time. */
  readonly bytesMax: number
  readonly perMebibyteMs: number
  /** `parser`: the body is complete before the handler runs. */
  readonly readBy: 'parser' | 'handler'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A body that no schema describes. Bodies of routes with neither are ignored. */
    rawBody?: RawBody
    /** Query and body as the document shows them; the handler reads and checks both itself. */
    ownInput?: { readonly querystring: object; readonly body: object }
  }
}

const mebibyte = 1_048_576

const everyBodyMs = 10_000

/** 1 Mbit/s. */
export const parsedBody: RawBody = { bytesMax: bodyLimitBytes, perMebibyteMs: 10_000, readBy: 'parser' }

/**
 * Time for a whole body, from its head on.
 * @param announced bytes; undefined: unknown, so it may be the largest body
 */
export function bodyDeadlineMs(announced: number | undefined, { bytesMax, perMebibyteMs }: RawBody): number {
  return everyBodyMs + perMebibyteMs * (Math.min(announced ?? bytesMax, bytesMax) / mebibyte)
}

type Headers = FastifyRequest['headers']

/** Undefined: unknown; 0: there is no body. */
export const announcedBytes = (headers: Headers): number | undefined =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined

/** Must be the first hook that reads the headers of bodies, and before those that may send a response. */
export function boundBodies(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw, headers, routeOptions }, _reply, done) => {
    const announced = announcedBytes(headers)
    if (announced === 0 || !(raw instanceof IncomingBody)) return done()
    raw.isExpected = true
    const afterMs = bodyDeadlineMs(announced, routeOptions.config.rawBody ?? parsedBody)
    const timer = setTimeout(() => raw.fail('late'), afterMs).unref()
    raw.once('close', () => clearTimeout(timer))
    done()
  })
}

const faults: Record<BodyFault, string> = {
  late: 'did not arrive in time',
  chunks: 'was sent in too many small chunks: send at least 1 KiB in each',
}

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** Closes the connection instead of waiting for the rest of the body. */
function faultError(fault: BodyFault, reply: FastifyReply): MatteError {
  reply.header('connection', 'close')
  return invalidParam('/body', faults[fault])
}

/** Calls `act` once if the body must not be read on; the returned function stops that. */
function onFault({ request: { raw }, reply }: Exchange, act: (error: MatteError) => void): () => void {
  if (!(raw instanceof IncomingBody)) return () => undefined
  const listener = (fault: BodyFault): void => act(faultError(fault, reply))
  if (raw.fault === undefined) raw.once('fault', listener)
  else listener(raw.fault)
  return () => raw.off('fault', listener)
}

/** Reads the body by `read`. @throws MatteError INVALID_PARAMS when it is late or has too many chunks */
export async function readUntilFault<T>(exchange: Exchange, read: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const forget = onFault(exchange, reject)
  try {
    return await Promise.race([promise, read()])
  } finally {
    forget()
  }
}

/** The payload as a stream that fails as `readUntilFault` does. */
export function failingBody(exchange: Exchange, payload: Readable): Readable {
  const body = new PassThrough()
  body.on('error', () => undefined) // the reader may have stopped at the body limit
  // Not `pipeline`, which would close the connection before the response is sent.
  payload.on('error', (error) => body.destroy(error))
  const forget = onFault(exchange, (error) => body.destroy(error))
  body.once('close', forget)
  return payload.pipe(body)
}

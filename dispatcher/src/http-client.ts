// The one way out to receivers. It sends one POST and reads a bounded answer within a total time. No redirects are
// followed, no proxy variables are read, nothing is decompressed, and every connection is made by the guarded
// connector. Connections are kept per origin, and each was vetted when it was made.
//
// There are two pools. `strict` knows no exceptions. `open` is for targets that only the operator's `allowedTargets`
// let through (D67): the list is asked on every attempt before that pool is used, so taking an entry away works at
// once, kept connections included; and no answer that came through it is kept.

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { orAborted } from '@matte/core/runtime/race'
import type { AttemptOutcome } from '@matte/core/webhook/attempt-outcome'
import { isDialable } from '@matte/core/webhook/target/address'
import { type Resolve, resolveName } from '@matte/core/webhook/target/resolve-name'
import { hostOf } from '@matte/core/webhook/target/target-host'
import { isAllowedTarget, parseTarget, refusePublicTarget } from '@matte/core/webhook/target/target-url'
import { Agent, type Dispatcher, request } from 'undici'
import { AttemptFailure } from './attempt-failure.ts'
import { classifyFailure } from './classify-failure.ts'
import { type Dial, guardedConnector } from './guarded-connector.ts'

export type HttpClientOptions = {
  readonly deniedNetworks: readonly string[]
  /** Total time of an attempt: DNS, connection, TLS, request, answer and body. */
  readonly timeoutMs: number
  /** What tests replace at the outermost edge: the DNS, the dialling, and whom TLS trusts. */
  readonly resolve?: Resolve
  readonly dial?: Dial
  readonly ca?: string
}

type Post = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly allowedTargets: readonly string[]
  /** Ends the attempt at once; `post` then rejects. */
  readonly signal: AbortSignal
}

export type PostResult = AttemptOutcome & {
  /** What happened in detail, for the operator's log only. */
  readonly cause?: unknown
}

export type HttpClient = {
  /** One attempt. Resolves whatever the receiver does; rejects only when `signal` is aborted. */
  post(post: Post): Promise<PostResult>
  close(): Promise<void>
}

type Route = { readonly agent: Dispatcher; readonly keepBody: boolean }

/** DNS has its own bound within the total, so that a dead name server is distinguished from a dead receiver. */
const dnsTimeoutMs = 5_000
const bodyKeptBytes = 16_384
const headersMaxBytes = 16_384

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { deniedNetworks, timeoutMs, resolve = resolveName, dial, ca } = options

  const judged = async (host: string): Promise<readonly string[]> => {
    const addresses = isIP(host) === 0 ? await resolved(resolve, host) : [host]
    if (addresses.every((address) => isDialable(address, deniedNetworks))) return addresses
    throw new AttemptFailure('TARGET_REFUSED', new Error(`${host} is ${addresses.slice(0, 8).join(' ')}`))
  }
  const agentWith = (connector: Parameters<typeof guardedConnector>[0]) =>
    new Agent({
      connect: guardedConnector(connector),
      allowH2: false,
      maxHeaderSize: headersMaxBytes,
      // The deadline below covers these phases; the parser's own timers would only be coarser.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Shorter than what common servers wait (5 s and more), so that we close an idle connection before they do.
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
    })
  const common = { connectTimeoutMs: timeoutMs, dial, ca }
  const strict = agentWith({
    ...common,
    addressesOf: judged,
    isPeerAllowed: (address) => isDialable(address, deniedNetworks),
  })
  const open = agentWith({ ...common, addressesOf: systemAddresses, isPeerAllowed: () => true })

  async function routeTo(text: string, allowedTargets: readonly string[]): Promise<Route & { url: URL }> {
    const target = parseTarget(text)
    if ('refusal' in target) throw new AttemptFailure('TARGET_REFUSED', new Error(target.refusal))
    const { url } = target
    const refusal = refusePublicTarget(url, deniedNetworks)
    if (isAllowedTarget(url, allowedTargets)) {
      const isPublic =
        refusal === undefined &&
        (await judged(hostOf(url)).then(
          () => true,
          () => false,
        ))
      if (!isPublic) return { url, agent: open, keepBody: false }
    } else if (refusal !== undefined) {
      throw new AttemptFailure('TARGET_REFUSED', new Error(refusal))
    }
    return { url, agent: strict, keepBody: true }
  }

  async function post({ url: text, headers, body, allowedTargets, signal }: Post): Promise<PostResult> {
    const startedAt = performance.now()
    using deadline = deadlineWithin(timeoutMs, signal)
    let statusCode: number | null = null
    let responseBody: string | null = null
    const outcome = (rest: Pick<PostResult, 'error' | 'cause'>): PostResult => ({
      ...rest,
      statusCode,
      responseBody,
      durationMs: performance.now() - startedAt,
    })
    try {
      const { url, agent, keepBody } = await orAborted(routeTo(text, allowedTargets), deadline.signal)
      const sending = request(url, { dispatcher: agent, method: 'POST', headers, body, signal: deadline.signal })
      // undici notes an abort while it connects, but rejects only once the connection is there or has failed.
      const response = await orAborted(sending, deadline.signal)
      statusCode = response.statusCode
      const bytes = await readAtMost(response.body, bodyKeptBytes)
      if (keepBody && bytes.length > 0) responseBody = toText(bytes)
      return outcome({ error: statusCode >= 200 && statusCode <= 299 ? null : 'STATUS' })
    } catch (error) {
      signal.throwIfAborted()
      return outcome({ error: deadline.signal.aborted ? 'TIMEOUT' : classifyFailure(error), cause: error })
    }
  }

  return {
    post,
    close: async () => {
      await Promise.all([strict.destroy(), open.destroy()])
    },
  }
}

async function resolved(resolve: Resolve, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host, dnsTimeoutMs)
  } catch (error) {
    throw new AttemptFailure('DNS_FAILED', error)
  }
}

/** The operator's own targets: hosts file and search domains count, since such names are often not in the DNS. */
async function systemAddresses(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    throw new AttemptFailure('DNS_FAILED', error)
  }
}

/** Aborts after `ms`, or together with `outer`; disposing ends both waits. */
function deadlineWithin(ms: number, outer: AbortSignal) {
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

/** The first bytes of the body as they come over the wire; the rest is not read, which costs the connection. */
async function readAtMost(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}

/** PostgreSQL's text takes no NUL. */
const toText = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\uFFFD')

// Sends one event to the developer's machine, byte for byte and with the headers that the service signed.
import { lookup } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { usageError } from '../cli-error.ts'
import { isLoopbackAddress } from '../profile/loopback.ts'

export type SignedEvent = { readonly body: string; readonly headers: Readonly<Record<string, string>> }

export type Answer =
  | { readonly status: number; readonly durationMs: number }
  | { readonly problem: string; readonly durationMs: number }

/** A receiver that takes longer blocks the events behind it. */
const answerMsMax = 10_000

/**
 * The URL of `--forward-to`; without a scheme it is http, so `localhost:3000/hook` works.
 * @throws CliError for anything else, and for another machine unless that is allowed
 */
export function readTarget(text: string, allowRemote: boolean): URL {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(full) ? new URL(full) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${text} is no http URL.`, 'Give the address of your receiver, such as localhost:3000/hook')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!allowRemote && isIP(host) !== 0 && !isLoopbackAddress(host)) throw remoteTarget(host)
  return url
}

const remoteTarget = (host: string) =>
  usageError(
    `${host} is not on this machine.`,
    'Events go to this machine only. Add --allow-remote to send them elsewhere.',
  )

/** Resolves names to addresses of this machine alone. The check is on the address that is dialled. */
const lookupLoopback: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    const local = addresses.filter(({ address }) => isLoopbackAddress(address))
    const [first] = local
    if (first === undefined) return callback(remoteTarget(hostname), '', 0)
    return options.all ? callback(null, local) : callback(null, first.address, first.family)
  })
}

/** Does not throw: a receiver that is down is an answer too. */
export function forward(target: URL, { body, headers }: SignedEvent, allowRemote: boolean): Promise<Answer> {
  const startedMs = performance.now()
  const elapsed = (): number => Math.round(performance.now() - startedMs)
  const bytes = Buffer.from(body, 'utf8')
  const request = target.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve) => {
    const sent = request(target, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': bytes.length },
      signal: AbortSignal.timeout(answerMsMax),
      ...(!allowRemote && { lookup: lookupLoopback }),
    })
    sent.on('response', (response) => {
      response.resume()
      const end = () => resolve({ status: response.statusCode ?? 0, durationMs: elapsed() })
      response.on('end', end).on('error', end)
    })
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ problem: explain(error, target), durationMs: elapsed() }),
    )
    sent.end(bytes)
  })
}

function explain(error: NodeJS.ErrnoException, { host }: URL): string {
  if (error.code === 'ECONNREFUSED') return `nothing listens on ${host}; start your receiver`
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${answerMsMax / 1_000} s`
  return error.message || (error.code ?? 'the request failed')
}

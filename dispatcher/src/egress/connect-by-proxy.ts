// A connection to a receiver through the operator's proxy (D67). The proxy is told an address that was vetted, never
// the name, so its own DNS has no say in where a webhook goes.
import { request } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'
import type { Dial } from './dial.ts'

type Target = {
  /** The vetted ones, at least one, tried in this order. */
  readonly addresses: readonly string[]
  readonly port: number
}

type Way = {
  readonly proxy: EgressProxy
  readonly dial: Dial
  /** For the connection to the proxy: one that is gone must not use up the time in which its receivers answer. */
  readonly proxyTimeoutMs: number
  /** For the proxy's answer about one address, while there is another one to try. */
  readonly addressTimeoutMs: number
}

/**
 * A socket that ends at the target. Rejects with the reason of `signal` when it aborts.
 * @throws AttemptFailure `CONNECT_FAILED` where the proxy reaches no address (5xx); `TARGET_REFUSED` where it may not
 * (403); `INTERNAL` where the proxy itself is at fault: out of reach, 407, no HTTP. That blames no receiver.
 */
export async function connectByProxy(way: Way, { addresses, port }: Target, signal: AbortSignal): Promise<Socket> {
  let failure: unknown
  for (const [index, address] of addresses.entries()) {
    const authority = isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
    try {
      return await openTunnel(way, { authority, isLast: index === addresses.length - 1 }, signal)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
      if (!(error instanceof AttemptFailure && /^(CONNECT_FAILED|TIMEOUT)$/.test(error.error))) throw error
    }
  }
  throw failure
}

type Asked = { readonly authority: string; readonly isLast: boolean }

function openTunnel(way: Way, { authority, isLast }: Asked, signal: AbortSignal): Promise<Socket> {
  const { host, port, authorization } = way.proxy
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const headers = { host: authority, ...(authorization !== undefined && { 'proxy-authorization': authorization }) }
  const createConnection = () => way.dial({ host, port })
  const asking = request({ method: 'CONNECT', path: authority, headers, createConnection, signal })
  const failAfter = (ms: number, failure: AttemptFailure) => setTimeout(() => asking.destroy(failure), ms)
  let timer = failAfter(
    way.proxyTimeoutMs,
    new AttemptFailure('INTERNAL', new Error('the egress proxy is out of reach')),
  )
  asking.on('socket', (socket) => {
    socket.once('connect', () => {
      clearTimeout(timer)
      if (!isLast) timer = failAfter(way.addressTimeoutMs, new AttemptFailure('TIMEOUT'))
    })
  })
  asking.on('error', (error) => {
    if (signal.aborted) reject(signal.reason)
    else reject(error instanceof AttemptFailure ? error : new AttemptFailure('INTERNAL', error))
  })
  asking.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    // Stays on for the socket's life: until somebody takes it over, an error without a listener would end the process.
    socket.on('error', () => undefined)
    if (statusCode >= 200 && statusCode <= 299) {
      socket.setNoDelay(true).setKeepAlive(true)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    } else {
      socket.destroy()
      reject(refusal(statusCode))
    }
  })
  asking.end()
  return promise.finally(() => clearTimeout(timer))
}

function refusal(statusCode: number): AttemptFailure {
  const cause = new Error(`the egress proxy answered ${statusCode}`)
  if (statusCode === 403) return new AttemptFailure('TARGET_REFUSED', cause)
  return new AttemptFailure(statusCode >= 500 ? 'CONNECT_FAILED' : 'INTERNAL', cause)
}

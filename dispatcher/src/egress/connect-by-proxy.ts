// Connects to a receiver through the operator's proxy, by a checked address rather than by name (A128), so the proxy's
// DNS cannot redirect a webhook.
import { request } from 'node:http'
import { isIPv6, type Socket, type TcpNetConnectOpts } from 'node:net'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'

/** Opens a TCP connection; replaced in tests. */
export type Dial = (options: TcpNetConnectOpts) => Socket

type Target = {
  /** Checked addresses, at least one, tried in this order. */
  readonly addresses: readonly string[]
  readonly port: number
}

type Route = {
  readonly proxy: EgressProxy
  readonly dial: Dial
  /** Bounds the connection to the proxy, so a dead proxy does not use up the receiver's time. */
  readonly proxyTimeoutMs: number
  /** Bounds the proxy's answer for one address while there is another to try. */
  readonly addressTimeoutMs: number
}

/**
 * Returns a socket that ends at the target. Rejects with the reason of `signal` on abort.
 * @throws AttemptFailure `CONNECT_FAILED` if the proxy reaches no address (5xx); `TARGET_REFUSED` if it forbids the
 * target (403); `INTERNAL` if the proxy itself fails (unreachable, 407, not HTTP), so no receiver is blamed
 */
export async function connectByProxy(route: Route, { addresses, port }: Target, signal: AbortSignal): Promise<Socket> {
  let failure: unknown
  for (const [index, address] of addresses.entries()) {
    const authority = isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
    try {
      return await openTunnel(route, { authority, isLast: index === addresses.length - 1 }, signal)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
      if (!(error instanceof AttemptFailure && /^(CONNECT_FAILED|TIMEOUT)$/.test(error.error))) throw error
    }
  }
  throw failure
}

type Tunnel = { readonly authority: string; readonly isLast: boolean }

function openTunnel(route: Route, { authority, isLast }: Tunnel, signal: AbortSignal): Promise<Socket> {
  const { host, port, authorization } = route.proxy
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const headers = { host: authority, ...(authorization !== undefined && { 'proxy-authorization': authorization }) }
  const createConnection = () => route.dial({ host, port })
  const connecting = request({ method: 'CONNECT', path: authority, headers, createConnection, signal })
  const failAfter = (ms: number, failure: AttemptFailure) => setTimeout(() => connecting.destroy(failure), ms)
  let timer = failAfter(
    route.proxyTimeoutMs,
    new AttemptFailure('INTERNAL', new Error('the egress proxy is unreachable')),
  )
  connecting.on('socket', (socket) => {
    socket.once('connect', () => {
      clearTimeout(timer)
      if (!isLast) timer = failAfter(route.addressTimeoutMs, new AttemptFailure('TIMEOUT'))
    })
  })
  connecting.on('error', (error) => {
    if (signal.aborted) reject(signal.reason)
    else reject(error instanceof AttemptFailure ? error : new AttemptFailure('INTERNAL', error))
  })
  connecting.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    // Without a listener, an error before the caller adds its own would end the process.
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
  connecting.end()
  return promise.finally(() => clearTimeout(timer))
}

function refusal(statusCode: number): AttemptFailure {
  const cause = new Error(`the egress proxy answered ${statusCode}`)
  if (statusCode === 403) return new AttemptFailure('TARGET_REFUSED', cause)
  return new AttemptFailure(statusCode >= 500 ? 'CONNECT_FAILED' : 'INTERNAL', cause)
}

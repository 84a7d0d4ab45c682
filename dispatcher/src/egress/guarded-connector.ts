// How a connection to a receiver is made: the addresses of its host are judged, one of exactly these is dialled, and
// the peer of the socket is judged again. So a name that changes between check and use gains nothing. This is a
// connector and no `lookup` option, because a lookup is never called for a host that is an address already. With a
// proxy the address that was judged is what the proxy is asked for.

import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { orAborted } from '@matte/core/runtime/race'
import { buildConnector } from 'undici'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'
import { connectByProxy } from './connect-by-proxy.ts'
import type { Dial } from './dial.ts'

type ConnectorOptions = {
  /** Addresses that may be dialled for this host, at least one. @throws AttemptFailure */
  readonly addressesOf: (host: string) => Promise<readonly string[]>
  readonly isPeerAllowed: (address: string) => boolean
  /** For DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number
  readonly dial?: Dial | undefined
  /** Asked in place of a direct connection where it `takes` every address of the host. */
  readonly proxied?: { readonly proxy: EgressProxy; readonly takes: (address: string) => boolean } | undefined
  /** PEM certificates to trust in place of the well-known authorities. */
  readonly ca?: string | undefined
}

/** Of a name with thousands of addresses all are judged, and so many are tried. */
const addressesDialledMax = 4
/** Long enough for a slow link, short enough to come to a second address within the attempt. */
const addressTimeoutMs = 2_000

export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { connectTimeoutMs, ca } = options
  // HTTP/1.1 only: with HTTP/2 in the offer, one hanging handshake would hold every request to its origin. No time-out
  // there, because one below covers all phases.
  const startTls = buildConnector({ allowH2: false, timeout: 0, ...(ca !== undefined && { ca }) })

  async function establish(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const { hostname, port, protocol } = target
    const isTls = protocol === 'https:'
    const socket = await connectVetted(options, { host: hostname, port: Number(port) || (isTls ? 443 : 80) }, signal)
    if (!isTls) return socket
    try {
      // The certificate is judged for the name in the URL, although an address was dialled.
      return await orAborted(secured(startTls, { ...target, httpSocket: socket }), signal)
    } catch (error) {
      socket.destroy()
      throw signal.aborted ? signal.reason : new AttemptFailure('TLS_FAILED', error)
    }
  }

  return (target, callback) => {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new AttemptFailure('TIMEOUT')), connectTimeoutMs)
    establish(target, limit.signal)
      .finally(() => clearTimeout(timer))
      .then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
  }
}

type HostAndPort = { readonly host: string; readonly port: number }

async function connectVetted(options: ConnectorOptions, { host, port }: HostAndPort, signal: AbortSignal) {
  const { addressesOf, isPeerAllowed, connectTimeoutMs, dial = connectTcp, proxied } = options
  const addresses = (await orAborted(addressesOf(host), signal)).slice(0, addressesDialledMax)
  if (proxied !== undefined && addresses.every(proxied.takes)) {
    const proxyTimeoutMs = Math.min(addressTimeoutMs, connectTimeoutMs / 2)
    return connectByProxy({ proxy: proxied.proxy, dial, proxyTimeoutMs, addressTimeoutMs }, { addresses, port }, signal)
  }
  const socket = dial({
    host: addresses[0] ?? host,
    port,
    ...(addresses.length > 1 && { host, lookup: answering(addresses) }),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    noDelay: true,
    keepAlive: true,
  })
  signal.addEventListener('abort', () => socket.destroy(signal.reason), { once: true })
  await connected(socket)
  if (socket.remoteAddress !== undefined && isPeerAllowed(socket.remoteAddress)) return socket
  socket.destroy()
  throw new AttemptFailure('TARGET_REFUSED', new Error(`connected to ${socket.remoteAddress}`))
}

const secured = (startTls: buildConnector.connector, target: buildConnector.Options): Promise<Socket> =>
  new Promise((resolve, reject) => {
    startTls(target, (...[error, socket]) => (error === null ? resolve(socket) : reject(error)))
  })

/** A lookup that knows nothing but the addresses already judged. */
const answering =
  (addresses: readonly string[]): LookupFunction =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
    )

const connected = (socket: Socket): Promise<void> =>
  new Promise((resolve, reject) => {
    // Stays on for the socket's life: whoever takes the socket over adds a listener of his own, and until then an
    // error without any would end the process.
    socket.on('error', (error) => reject(new AttemptFailure('CONNECT_FAILED', error)))
    socket.once('connect', resolve)
  })

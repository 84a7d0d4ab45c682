// Connects to a receiver: checks every address of its host, dials one of them, and checks the peer of the socket, so a
// name that changes between check and use (DNS rebinding) gains nothing. It is a connector rather than a `lookup`
// option because undici calls no lookup for a host that is an IP address.

import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { foreignTrust } from '@matte/core/runtime/authorities'
import { orAborted } from '@matte/core/runtime/race'
import { buildConnector } from 'undici'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'
import type { Dial } from './connect-by-proxy.ts'
import { connectByProxy } from './connect-by-proxy.ts'

type ConnectorOptions = {
  /** Checked addresses of this host, at least one. @throws AttemptFailure */
  readonly addressesOf: (host: string) => Promise<readonly string[]>
  readonly isPeerAllowed: (address: string) => boolean
  /** Covers DNS, TCP and TLS. */
  readonly connectTimeoutMs: number
  readonly dial?: Dial | undefined
  /** Replaces a direct connection if `takes` accepts every address of the host. */
  readonly proxied?: { readonly proxy: EgressProxy; readonly takes: (address: string) => boolean } | undefined
  /** PEM certificates that replace the well-known authorities. */
  readonly ca?: string | undefined
}

/** All addresses of a name are checked; this many are tried. */
const addressesDialledMax = 4
/** Long enough for a slow link, short enough to try a second address within the attempt. */
const addressTimeoutMs = 2_000

export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { connectTimeoutMs, ca } = options
  // HTTP/1.1 only: with HTTP/2, one hanging handshake would hold every request to its origin. The limit below covers
  // all phases, so the connector needs no timeout.
  const secureContext = foreignTrust()
  const trust = ca === undefined ? secureContext && { secureContext } : { ca }
  const startTls = buildConnector({ allowH2: false, timeout: 0, ...trust })

  async function establish(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const { hostname, port, protocol } = target
    const isTls = protocol === 'https:'
    const socket = await connectVetted(options, { host: hostname, port: Number(port) || (isTls ? 443 : 80) }, signal)
    if (!isTls) return socket
    try {
      // The certificate must match the name in the URL.
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
        (socket) => callback(null, readInPieces(socket)),
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

const pieceBytes = 1_024

/**
 * undici parses what a read returns although it has just closed the connection, with an error for each further header:
 * for 64 KiB of them 0.1 s of CPU.
 */
function readInPieces(socket: Socket): Socket {
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    if (socket.destroyed) return null
    return read(size ?? (socket.readableLength > pieceBytes ? pieceBytes : undefined))
  }
  return socket
}

const secured = (startTls: buildConnector.connector, target: buildConnector.Options): Promise<Socket> =>
  new Promise((resolve, reject) => {
    startTls(target, (...[error, socket]) => (error === null ? resolve(socket) : reject(error)))
  })

/** A lookup that returns the checked addresses. */
const answering =
  (addresses: readonly string[]): LookupFunction =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
    )

const connected = (socket: Socket): Promise<void> =>
  new Promise((resolve, reject) => {
    // Without a listener, an error before undici adds its own would end the process.
    socket.on('error', (error) => reject(new AttemptFailure('CONNECT_FAILED', error)))
    socket.once('connect', resolve)
  })

// Terminates TLS in front of a server that speaks plain text, as stunnel does.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, createServer as createTlsServer, TLSSocket } from 'node:tls'
import type { Certificate } from '../support/throw-away-certificate.ts'

export type TlsFront = { readonly host: string; close(): void }

type Target = {
  /** `host:port` of the server. */
  readonly host: string
  readonly certificate: Certificate
  /** `postgres`: TLS starts after an SSLRequest. `grpc`: HTTP/2. */
  readonly protocol?: 'postgres' | 'grpc'
}

export async function startTlsFront({ host, certificate, protocol }: Target): Promise<TlsFront> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const { hostname, port } = new URL(`tcp://${host}`)
  const forward = (inward: Socket): void => {
    const outward = keep(connect(Number(port), hostname))
    inward.pipe(outward).pipe(inward)
    inward.on('close', () => outward.destroy())
    outward.on('close', () => inward.destroy())
  }
  const keys = { cert: certificate.certificate, key: certificate.key }
  const server: Server =
    protocol === 'postgres'
      ? createServer((socket) => {
          keep(socket).once('data', () => {
            socket.write('S')
            const secureContext = createSecureContext(keys)
            forward(keep(new TLSSocket(socket, { isServer: true, secureContext })))
          })
        })
      : createTlsServer({ ...keys, ...(protocol === 'grpc' && { ALPNProtocols: ['h2'] }) }, (socket) => {
          forward(keep(socket))
        })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

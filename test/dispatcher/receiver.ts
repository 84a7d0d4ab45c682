import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { receiverCertificate } from './receiver-certificate.ts'

export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Number of this receiver's connection, from 1. */
  readonly connection: number
  /** Server name from the TLS handshake; undefined without TLS. */
  readonly servername: string | undefined
}

export type Receiver = {
  readonly port: number
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly received: readonly Received[]
  /** Open connections. */
  readonly connections: ReadonlySet<Socket>
  close(): Promise<void>
}

type Answer = (response: ServerResponse, received: Received, request: IncomingMessage) => void

/** A real HTTP server on a free loopback port that keeps all requests. Without `answer` it responds 204. */
export function startReceiver(
  answer: Answer = (response) => response.writeHead(204).end(),
  { tls = false }: { tls?: boolean } = {},
): Promise<Receiver> {
  const received: Received[] = []
  const numbers = new WeakMap<Socket, number>()
  let count = 0
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const entry: Received = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      connection: numbers.get(request.socket) ?? 0,
      servername: ('servername' in request.socket && String((request.socket as TLSSocket).servername)) || undefined,
    }
    received.push(entry)
    answer(response, entry, request)
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    onRequest(request, response).catch(() => response.destroy())
  }
  const server = tls ? createTlsServer(receiverCertificate, listener) : createServer(listener)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    count += 1
    numbers.set(socket, count)
  })
  return listen(server, received)
}

/** A TCP server that handles each connection as given, for responses that no HTTP server would send. */
export const startRawReceiver = (onConnection: (socket: Socket) => void): Promise<Receiver> =>
  listen(
    createTcpServer((socket) => {
      onConnection(socket)
      socket.resume() // otherwise the end of the connection is not noticed
    }),
    [],
  )

function listen(server: Server, received: Received[]): Promise<Receiver> {
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => connections.delete(socket))
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      resolve({
        port,
        url: `http://127.0.0.1:${port}`,
        received,
        connections,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            for (const socket of connections) socket.destroy()
          }),
      })
    })
  })
}

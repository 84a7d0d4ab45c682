// Requests that no HTTP library sends: half bodies, bodies in chunks of one byte, other source addresses.
import { connect } from 'node:net'

export type RawRequest = {
  /** Origin. */
  readonly url: string
  /** Method and path. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** Any address of 127.0.0.0/8. */
  readonly from?: string
}

export type RawExchange = {
  /** Ends with the connection. */
  readonly closed: Promise<string>
  /** Whether a response has begun, or the connection has ended without one. */
  isOver(): boolean
  /** The received part of the response. */
  read(): string
  write(bytes: string | Buffer): void
  destroy(): void
}

/** Sends the head of a request. */
export function openRequest({ url, target, headers = {}, from }: RawRequest): RawExchange {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, ...(from !== undefined && { localAddress: from }) })
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  // The service may close the connection while the test still writes.
  socket.on('error', () => undefined)
  const fields = Object.entries({ Host: hostname, ...headers }).map(([name, value]) => `${name}: ${value}`)
  socket.write([`${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'))
  return {
    closed: new Promise((resolve) => socket.once('close', () => resolve(text))),
    isOver: () => text !== '' || socket.destroyed,
    read: () => text,
    write: (bytes) => void socket.write(bytes),
    destroy: () => socket.destroy(),
  }
}

/** Chunks of a body with `Transfer-Encoding: chunked`, without its end. */
export function inChunks(body: string, bytesPerChunk: number): string {
  const chunks: string[] = []
  for (let at = 0; at < body.length; at += bytesPerChunk) {
    const chunk = body.slice(at, at + bytesPerChunk)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  return chunks.join('')
}

export const lastChunk = '0\r\n\r\n'

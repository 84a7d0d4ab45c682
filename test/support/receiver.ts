// A real webhook receiver: node:http on a free port that keeps every request byte for byte and responds as configured.
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

export type Webhook = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Raw bytes, before any decoding. */
  readonly bytes: Buffer
  /** Monotonic time of arrival, in milliseconds. */
  readonly at: number
}

export type Receiver = {
  readonly url: string
  /** `host:port` for `webhooks.allowedTargets`. */
  readonly target: string
  readonly received: readonly Webhook[]
  /** Statuses of the next responses; 200 after the last one. */
  answerWith(...statuses: number[]): void
  /** Waits for the first `count` requests. */
  until(count: number): Promise<readonly Webhook[]>
  close(): Promise<void>
}

/** @param body of every response */
export async function startReceiver({ body = '' } = {}): Promise<Receiver> {
  const received: Webhook[] = []
  const statuses: number[] = []
  const server = createServer((request, response) => {
    readBytes(request).then(
      (bytes) => {
        received.push({ path: request.url ?? '', headers: request.headers, bytes, at: performance.now() })
        response.writeHead(statuses.shift() ?? 200).end(body)
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${target}/hook`,
    target,
    received,
    answerWith: (...next) => void statuses.push(...next),
    until: (count) => until(`${count} webhook(s) arrive`, () => received.length >= count && received.slice(0, count)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

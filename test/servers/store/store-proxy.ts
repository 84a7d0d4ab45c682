// A proxy before the real store: it can refuse requests for objects as a throttling store does, lose the node in
// the middle of a transfer, and be far away. `Host` is kept, so signatures stay valid.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

type Refusal = { readonly status: number; readonly code: string }

export type StoreRequest = { readonly method: string; readonly key: string }

export type StoreProxy = {
  readonly url: string
  /** Requests for objects so far, with what happened to them. */
  readonly requests: readonly (StoreRequest & { readonly outcome: 'passed' | 'refused' | 'cut' })[]
  /** Refuses requests for which it returns a refusal. */
  refuse(rule: (request: StoreRequest) => Refusal | undefined): void
  /** Closes both connections in the middle of the body: of an upload, or of a download. */
  cut(rule: (request: StoreRequest) => boolean): void
  close(): Promise<void>
}

export const slowDown: Refusal = { status: 503, code: 'SlowDown' }
export const tooMany: Refusal = { status: 429, code: 'TooManyRequests' }

const describe = ({ status, code }: Refusal): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code>` +
  `<Message>Please reduce your request rate. (${status})</Message><RequestId>1</RequestId></Error>`

export async function startStoreProxy(endpoint: string): Promise<StoreProxy> {
  const { hostname, port } = new URL(endpoint)
  const requests: (StoreRequest & { outcome: 'passed' | 'refused' | 'cut' })[] = []
  let refusalOf: (request: StoreRequest) => Refusal | undefined = () => undefined
  let isCut: (request: StoreRequest) => boolean = () => false

  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = 'GET', url = '/' } = incoming
    const [path = ''] = url.split('?')
    const key = path.split('/').slice(2).join('/')
    const asked: StoreRequest = { method, key }
    const note = (outcome: 'passed' | 'refused' | 'cut'): void => {
      if (key !== '') requests.push({ ...asked, outcome })
    }
    const refusal = key === '' ? undefined : refusalOf(asked)
    if (refusal !== undefined) {
      note('refused')
      incoming.resume()
      outgoing.writeHead(refusal.status, { 'content-type': 'application/xml' }).end(describe(refusal))
      return
    }
    const cut = key !== '' && isCut(asked)
    note(cut ? 'cut' : 'passed')
    const lose = (): void => {
      incoming.socket.destroy()
      asking.destroy()
    }
    const asking = request({ hostname, port, method, path: url, headers: incoming.headers, agent: false })
    asking.on('error', () => incoming.socket.destroy())
    outgoing.on('close', () => asking.destroy())
    asking.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      const half = Number(response.headers['content-length'] ?? 0) / 2
      if (cut && method === 'GET') return void response.pipe(passing(half, lose)).pipe(outgoing)
      response.on('error', () => outgoing.destroy())
      response.pipe(outgoing)
    })
    const half = Number(incoming.headers['content-length'] ?? 0) / 2
    if (cut && method === 'PUT') incoming.pipe(passing(half, lose)).pipe(asking)
    else incoming.pipe(asking)
  }

  const server = createServer(serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refuse: (rule) => {
      refusalOf = rule
    },
    cut: (rule) => {
      isCut = rule
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Passes this many bytes, and calls `then` instead of the rest. */
function passing(bytes: number, then: () => void): Transform {
  let left = bytes
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const now = chunk.subarray(0, Math.max(0, left))
      left -= chunk.length
      if (left <= 0) setImmediate(then)
      done(null, now)
    },
  })
}

export type FarAway = { readonly url: string; readonly openMax: () => number; close(): void }

/** The store behind a network with this round-trip time; bandwidth is unlimited. Connecting takes a round trip too. */
export async function startFarAway(endpoint: string, roundTripMs: number): Promise<FarAway> {
  const { hostname, port } = new URL(endpoint)
  const sockets = new Set<Socket>()
  let busy = 0
  let busyMax = 0
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createTcpServer((inward) => {
    keep(inward)
    const outward = keep(connect(Number(port), hostname))
    let asking = false
    // A request is open from its first byte to the first byte of its response.
    inward.on('data', () => {
      if (!asking) busyMax = Math.max(busyMax, ++busy)
      asking = true
    })
    outward.on('data', () => {
      if (asking) busy--
      asking = false
    })
    const connected = performance.now() + roundTripMs
    delay(inward, outward, () => Math.max(roundTripMs / 2, connected - performance.now() + roundTripMs / 2))
    delay(outward, inward, () => roundTripMs / 2)
    inward.on('close', () => outward.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    openMax: () => busyMax,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Writes each chunk after its delay, in order, whatever the length of the queue. */
function delay(from: Socket, to: Socket, ms: () => number): void {
  let last = 0
  from.on('data', (chunk) => {
    const at = Math.max(last, performance.now() + ms())
    last = at
    setTimeout(() => to.write(chunk), at - performance.now())
  })
  from.on('end', () => setTimeout(() => to.end(), Math.max(0, last - performance.now()) + ms()))
}

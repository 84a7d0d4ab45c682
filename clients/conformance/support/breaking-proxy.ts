// A proxy in front of the API and of the object store behind it. Each run of a case has its own proxy on its own port:
// URLs in answers are rewritten to that port, so uploads and downloads pass through it too. A fault breaks the next
// request of its route as often as it says; all other requests are forwarded unchanged.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { answerPage, type Pages } from './page-source.ts'

/** Requests of the interface by what they do. */
export const routes = ['presign', 'upload', 'create', 'cut-out', 'read', 'list', 'cancel', 'download', 'other'] as const
export type Route = (typeof routes)[number]

export type Action =
  /** Answers instead of the service. */
  | {
      readonly do: 'answer'
      readonly status: number
      readonly code?: string
      readonly headers?: Record<string, string>
    }
  /** Answers with a page of HTML, as a proxy of a hosting company does. */
  | { readonly do: 'answer-html'; readonly status: number }
  /** Sends the caller to another host with the same path. */
  | { readonly do: 'redirect'; readonly status: number }
  /** Resets the connection in the middle of the request's body; the service gets nothing. */
  | { readonly do: 'cut-request' }
  /** Forwards the request, and resets the connection instead of answering. */
  | { readonly do: 'cut-answer' }
  /** Resets the connection in the middle of the answer's body. */
  | { readonly do: 'cut-body' }
  /** Ends the answer in the middle of its body, in good order, under the Content-Length of the whole body. */
  | { readonly do: 'truncate' }
  /** Sends the answer in pieces with pauses between them. */
  | { readonly do: 'trickle'; readonly pieces: number; readonly everyMs: number }
  /** Sends half of the answer's body, then nothing, on an open connection. */
  | { readonly do: 'stall' }
  /** Forwards the request twice and answers with the second answer. */
  | { readonly do: 'repeat' }
  /** Answers a list with so many pages. */
  | ({ readonly do: 'pages' } & Pages)
  /** Calls `onStop`, and never answers. With `after` the service has processed the request by then. */
  | { readonly do: 'stop'; readonly when: 'before' | 'after' }

export type Fault = Action & {
  readonly on: Route
  /** Requests of the route that pass before the fault; 0 by default. */
  readonly skip?: number
  /** Requests that it breaks; 1 by default. */
  readonly times?: number
}

export type Seen = {
  readonly route: Route
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Monotonic time of arrival in milliseconds. */
  readonly at: number
}

export type BreakingProxy = {
  readonly origin: string
  readonly seen: readonly Seen[]
  /** Requests that arrived at the host that a redirect names. */
  readonly elsewhere: readonly Seen[]
  count(route: Route): number
  close(): Promise<void>
}

type Options = {
  /** Origin of the API, which is also the host of its presigned URLs. */
  readonly upstream: string
  readonly faults?: readonly Fault[]
  readonly onStop?: () => void
}

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

export async function startBreakingProxy({ upstream, faults = [], onStop }: Options): Promise<BreakingProxy> {
  const seen: Seen[] = []
  const elsewhere: Seen[] = []
  const pending = faults.map((fault) => ({ ...fault, skip: fault.skip ?? 0, times: fault.times ?? 1 }))

  function takeFault(route: Route): Action | undefined {
    const found = pending.find((fault) => fault.on === route && fault.times > 0)
    if (found === undefined) return undefined
    if (found.skip > 0) found.skip--
    else {
      found.times--
      return found
    }
    return undefined
  }

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const asked = describeRequest(incoming)
    seen.push(asked)
    const fault = takeFault(asked.route)
    if (fault?.do === 'cut-request') return cutRequest(incoming)
    const body = await buffer(incoming)
    const forward = async (): Promise<Answer> =>
      rewriteUrls(await sendTo(upstream, incoming, { body, closed: outgoing }), upstream, origin)
    await answerWith(fault, { asked, forward, outgoing })
  }

  async function answerWith(fault: Action | undefined, { asked, forward, outgoing }: Exchange): Promise<void> {
    switch (fault?.do) {
      case 'answer':
        return send(outgoing, buildError(fault))
      case 'answer-html':
        return send(outgoing, { status: fault.status, headers: { 'content-type': 'text/html' }, body: htmlPage })
      case 'redirect': {
        const location = `http://localhost:${portOf(other)}${asked.path}`
        return send(outgoing, { status: fault.status, headers: { location }, body: Buffer.alloc(0) })
      }
      case 'pages':
        return send(outgoing, answerPage(asked.path, fault))
      case 'stop':
        if (fault.when === 'after') await forward()
        return onStop?.()
      case 'repeat':
        await forward()
        return send(outgoing, await forward())
      default:
        return sendBroken(outgoing, await forward(), fault)
    }
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const other = createServer((incoming, outgoing) => {
    elsewhere.push(describeRequest(incoming))
    outgoing.writeHead(404).end()
  })
  await Promise.all([listen(server), listen(other)])
  const origin = `http://127.0.0.1:${portOf(server)}`
  return {
    origin,
    seen,
    elsewhere,
    count: (route) => seen.filter((each) => each.route === route).length,
    close: async () => {
      await Promise.all([server, other].map(closeServer))
    },
  }
}

type Exchange = {
  readonly asked: Seen
  readonly forward: () => Promise<Answer>
  readonly outgoing: ServerResponse
}

async function sendBroken(outgoing: ServerResponse, answer: Answer, fault: Action | undefined): Promise<void> {
  const { status, headers, body } = answer
  const half = body.subarray(0, Math.ceil(body.length / 2))
  switch (fault?.do) {
    case 'cut-answer':
      return reset(outgoing)
    case 'cut-body':
      outgoing.writeHead(status, headers).write(half, () => reset(outgoing))
      return
    case 'truncate':
      outgoing.writeHead(status, headers).write(half, () => outgoing.socket?.end())
      return
    case 'stall':
      outgoing.writeHead(status, headers).write(half)
      return
    case 'trickle':
      return trickle(outgoing, answer, fault)
    default:
      return send(outgoing, answer)
  }
}

async function trickle(outgoing: ServerResponse, answer: Answer, { pieces, everyMs }: Trickle): Promise<void> {
  outgoing.writeHead(answer.status, answer.headers)
  const size = Math.max(1, Math.ceil(answer.body.length / pieces))
  for (let at = 0; at < answer.body.length && !outgoing.destroyed; at += size) {
    outgoing.write(answer.body.subarray(at, at + size))
    await pause(everyMs)
  }
  outgoing.end()
}

type Trickle = { readonly pieces: number; readonly everyMs: number }

const send = (outgoing: ServerResponse, { status, headers, body }: Answer): void => {
  outgoing.writeHead(status, { ...headers, 'content-length': String(body.length) }).end(body)
}

const reset = (outgoing: ServerResponse): void => void outgoing.socket?.resetAndDestroy()

/** Waits for the first bytes of the body, so the connection ends in the middle of it. */
async function cutRequest(incoming: IncomingMessage): Promise<void> {
  await once(incoming, 'data')
  incoming.socket.resetAndDestroy()
}

function sendTo(
  upstream: string,
  incoming: IncomingMessage,
  { body, closed }: { body: Buffer; closed: ServerResponse },
): Promise<Answer> {
  const { host: _host, connection: _connection, 'transfer-encoding': _encoding, ...headers } = incoming.headers
  const target = new URL(incoming.url ?? '/', upstream)
  return new Promise((resolve, reject) => {
    const sent = { ...headers, host: target.host, 'content-length': String(body.length) }
    const asking = request(target, { method: incoming.method ?? 'GET', headers: sent, agent: false })
    closed.on('close', () => asking.destroy())
    asking.on('error', reject)
    asking.on('response', (response) => {
      const { connection: _own, 'transfer-encoding': _sent, ...told } = response.headers
      buffer(response).then(
        (bytes) => resolve({ status: response.statusCode ?? 502, headers: told, body: bytes }),
        reject,
      )
    })
    asking.end(body)
  })
}

function rewriteUrls(answer: Answer, from: string, to: string): Answer {
  if (!String(answer.headers['content-type']).startsWith('application/json')) return answer
  const body = Buffer.from(answer.body.toString().replaceAll(from, to))
  return { ...answer, headers: { ...answer.headers, 'content-length': String(body.length) }, body }
}

const api = '/open/developer'

function describeRequest({ method = 'GET', url = '/', headers }: IncomingMessage): Seen {
  const { pathname } = new URL(url, 'http://proxy')
  return { route: routeOf(method, pathname), method, path: url, headers, at: performance.now() }
}

function routeOf(method: string, path: string): Route {
  if (path.endsWith(`${api}/uploads/presign`)) return 'presign'
  if (path.includes('/private-uploads/') && method === 'PUT') return 'upload'
  if (path.includes('/results/') && method === 'GET') return 'download'
  if (path.endsWith(`${api}/cut-outs`)) return 'cut-out'
  if (path.endsWith(`${api}/tasks`)) return method === 'POST' ? 'create' : 'list'
  if (/\/open\/developer\/tasks\/[^/]+$/.test(path)) return method === 'DELETE' ? 'cancel' : 'read'
  return 'other'
}

function buildError({ status, code, headers = {} }: Extract<Action, { do: 'answer' }>): Answer {
  const requestId = 'from-the-proxy'
  const error = { code: code ?? 'SYSTEM_INTERNAL_ERROR', message: 'The proxy broke this answer.', details: {} }
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': requestId, ...headers },
    body: Buffer.from(JSON.stringify({ request_id: requestId, error })),
  }
}

const htmlPage = Buffer.from('<!doctype html><title>Bad gateway</title><h1>Something is wrong</h1>')

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

function closeServer(server: ReturnType<typeof createServer>): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

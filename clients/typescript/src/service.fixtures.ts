// A small service on a free port with the operations of one image, which breaks where a test says so.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Matte } from './matte.ts'
import type { MatteOptions } from './options.ts'
import type { Task } from './schema.ts'

export const png = Uint8Array.from([...Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...Array(100_000).keys()])
export const result = Buffer.from('RIFF....WEBP and the rest of a result')

export type Seen = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

type Exchange = { readonly seen: Seen; readonly response: ServerResponse; readonly count: number }

/** Takes a request over; false leaves it to the service. */
export type Breaks = (exchange: Exchange) => boolean | Promise<boolean>

type Book = {
  readonly tasks: Map<string, Task>
  readonly keys: Map<string, string>
  readonly objects: Map<string, Buffer>
}

export async function startService(breaks: Breaks = () => false) {
  const book: Book = { tasks: new Map(), keys: new Map(), objects: new Map() }
  const requests: Seen[] = []
  /** How a new task begins; a poll ends it. */
  const settings = { status: 'succeeded' as Task['status'], pollsUntilEnd: 1, openMax: Number.POSITIVE_INFINITY }
  const polls = new Map<string, number>()
  const server = createServer(async (request, response) => {
    if (request.headers.origin !== undefined && allowOrigin(request, response)) return
    const body: Buffer[] = []
    try {
      for await (const chunk of request) body.push(chunk)
    } catch {
      return
    }
    const path = request.url?.split('?')[0] ?? ''
    const seen: Seen = { method: request.method ?? '', path, headers: request.headers, body: Buffer.concat(body) }
    requests.push(seen)
    const count = requests.filter((one) => one.method === seen.method && one.path === path).length
    if (await breaks({ seen, response, count })) return
    answer(seen, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function answer({ method, path, headers, body }: Seen, response: ServerResponse): unknown {
    const end = (status: number, data: unknown) => sendJson(response, status, { request_id: 'req-1', data })
    const route = `${method} ${path.replace('/api/v1/open/developer', '').replace(/[0-9a-f-]{36}/, ':id')}`
    const task = book.tasks.get(path.split('/').at(-1) ?? '')
    switch (route) {
      case 'POST /uploads/presign': {
        const objectKey = `private-uploads/${randomUUID()}`
        const { contentType, fileSize } = JSON.parse(String(body))
        const uploadUrl = `${origin}/store/${objectKey}?signature=1`
        return end(200, {
          uploadUrl,
          objectKey,
          method: 'PUT',
          headers: { 'Content-Type': contentType, 'Content-Length': String(fileSize) },
        })
      }
      case 'POST /tasks':
        return create(JSON.parse(String(body)), String(headers['idempotency-key']), response)
      case 'GET /tasks/:id': {
        if (!task) return sendError(response, 404, 'DEVELOPER_TASK_NOT_FOUND')
        const poll = (polls.get(task.id) ?? 0) + 1
        polls.set(task.id, poll)
        if (task.status === 'queued' && poll >= settings.pollsUntilEnd) succeed(task)
        return end(200, task)
      }
      case 'DELETE /tasks/:id':
        if (task?.status !== 'queued') return sendError(response, 409, 'TASK_CANNOT_CANCEL')
        task.status = 'canceled'
        return end(200, task)
      case 'GET /tasks':
        return end(200, { items: [...book.tasks.values()], page: 1, pageSize: 100, total: 0, nextCursor: null })
    }
    if (method === 'PUT') {
      book.objects.set(path.replace('/store/', ''), body)
      return response.writeHead(200).end()
    }
    if (!path.startsWith('/results/')) return sendError(response, 404, 'NOT_FOUND')
    return response.writeHead(200, { 'content-type': 'image/webp', 'content-length': result.length }).end(result)
  }

  function create(body: { imageUrl: string }, key: string, response: ServerResponse): unknown {
    const earlier = book.tasks.get(book.keys.get(key) ?? '')
    if (earlier) return sendJson(response, 201, { request_id: 'req-1', data: earlier })
    const open = [...book.tasks.values()].filter(({ status }) => status === 'queued').length
    if (open >= settings.openMax) return sendError(response, 400, 'TASK_CONCURRENT_LIMIT')
    const task = { ...blankTask, id: randomUUID(), sourceUrl: body.imageUrl, status: settings.status }
    if (task.status === 'succeeded') succeed(task)
    if (task.status === 'failed')
      task.failure = { reason: 'INPUT_UNREADABLE', message: 'It is damaged.', retryable: false }
    book.tasks.set(task.id, task)
    book.keys.set(key, task.id)
    return sendJson(response, 201, { request_id: 'req-1', data: task })
  }

  const succeed = (task: Task) =>
    Object.assign(task, { status: 'succeeded', resultUrl: `${origin}/results/${task.id}` })

  return {
    origin,
    requests,
    settings,
    tasks: book.tasks,
    objects: book.objects,
    matte: (options: MatteOptions = {}) =>
      new Matte({ apiKey: 'service_live_x', baseUrl: `${origin}/api/v1`, ...options }),
    paths: (method: string) => requests.filter((one) => one.method === method).map(({ path }) => path),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** As the service does for `cors.allowedOrigins`. True: it was a question before the request, and is answered. */
function allowOrigin(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*')
  if (request.method !== 'OPTIONS') return false
  response.setHeader('access-control-allow-methods', 'GET, PUT, POST, DELETE')
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '')
  response.end()
  return true
}

const blankTask: Task = {
  id: '',
  status: 'queued',
  modelVersion: 'service-v2',
  sourceUrl: '',
  resultUrl: null,
  createdAt: '2026-11-21T09:30:00.000Z',
  completedAt: null,
  batchId: null,
  callbackUrl: null,
  failure: null,
  width: null,
  height: null,
  resultFormat: null,
  retryCount: 0,
  foreground: null,
  retention: null,
  erasedAt: null,
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): unknown {
  return response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function sendError(response: ServerResponse, status: number, code: string, headers = {}): unknown {
  return sendJson(response, status, { request_id: 'req-9', error: { code, message: 'No.', details: {} } }, headers)
}

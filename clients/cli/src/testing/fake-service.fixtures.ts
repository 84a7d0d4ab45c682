// A small service in this process, over real HTTP: uploads, tasks, results, lists and the stream of events.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export const testKey = 'service_live_abcdefghijklmnopqrstuvwxyz9xQ2'

/** A PNG of one pixel. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

type Refusal = {
  readonly status: number
  readonly code: string
  readonly message?: string
  readonly details?: object
  readonly headers?: Record<string, string>
}

type FakeTask = { readonly id: string; readonly objectKey: string; status: string; readonly [field: string]: unknown }

export type FakeService = {
  readonly origin: string
  readonly baseUrl: string
  readonly env: Record<string, string>
  readonly tasks: Map<string, FakeTask>
  /** Requests as `METHOD /path`, uploads and downloads included. */
  readonly requests: string[]
  /** Bodies of creations of tasks. */
  readonly creations: { readonly imageUrl: string; readonly output?: object }[]
  /** Refuses calls for which it returns a refusal. */
  refuse: (method: string, path: string) => Refusal | undefined
  /** Serves the page that creates keys. */
  hasConsole: boolean
  /** Awaited before a creation is answered. */
  beforeCreation: () => Promise<void>
  /** Answers `GET …/webhooks/stream`. */
  stream: (request: IncomingMessage, response: ServerResponse) => void
  stop(): Promise<void>
}

const root = '/api/v1/open/developer'

export async function startFakeService(): Promise<FakeService> {
  const tasks = new Map<string, FakeTask>()
  const byIdempotencyKey = new Map<string, string>()
  const requests: string[] = []
  const creations: FakeService['creations'] = []
  let count = 0
  const newId = (): string => `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake')
    const method = request.method ?? ''
    requests.push(`${method} ${pathname}`)
    const body = await buffer(request).catch(() => Buffer.alloc(0))
    if (pathname === '/keys' && service.hasConsole) return void response.setHeader('content-type', 'text/html').end()
    if (pathname.startsWith('/store/')) return void response.end()
    if (pathname.startsWith('/results/')) return void response.setHeader('content-type', 'image/png').end(png)
    const path = pathname.slice(root.length)
    const refusal = service.refuse(method, path) ?? checkKey(request)
    if (refusal) return sendError(response, refusal)
    if (path === '/webhooks/stream') return service.stream(request, response)
    const data = await answer({ method, path, body, request, searchParams })
    if (data === undefined) return sendError(response, { status: 404, code: 'NOT_FOUND' })
    send(response, method === 'POST' ? 201 : 200, { request_id: 'req-1', data })
  })

  type Call = {
    readonly method: string
    readonly path: string
    readonly body: Buffer
    readonly request: IncomingMessage
    readonly searchParams: URLSearchParams
  }

  async function answer(call: Call): Promise<unknown> {
    const { method, path, body, searchParams } = call
    const page = (items: object[]) => ({
      items,
      page: 1,
      pageSize: 100,
      total: items.length,
      totalPages: 1,
      nextCursor: null,
    })
    const id = path.split('/')[2] ?? ''
    if (path === '/uploads/presign') return presign()
    if (path === '/tasks' && method === 'POST') return createTask(call)
    if (path === '/tasks') {
      const status = searchParams.get('status')
      const [least = 0, most = 1] = ['minConfidence', 'maxConfidence'].map(
        (name) => searchParams.get(name) ?? undefined,
      )
      const isWanted = ({ confidence }: FakeTask) =>
        Number(confidence) >= Number(least) && Number(confidence) <= Number(most)
      return page([...tasks.values()].filter((task) => (status === null || task.status === status) && isWanted(task)))
    }
    if (path === `/tasks/${id}/images` && method === 'DELETE') return change(id, 'succeeded')
    if (path === `/tasks/${id}` && method === 'DELETE') return change(id, 'canceled')
    if (path === `/tasks/${id}/retry`) return change(id, 'queued')
    if (path === `/tasks/${id}`) return tasks.get(id)
    if (path === '/usage') return usage
    if (path === '/api-keys') return page([apiKey])
    if (path === '/webhooks/trigger') return { id: newId(), ...JSON.parse(body.toString()) }
    if (path === '/webhooks' && method === 'POST')
      return { ...endpoint, ...JSON.parse(body.toString()), signingSecret: 'whsec_new' }
    if (path === '/webhooks') return page([endpoint])
    return undefined
  }

  function presign() {
    const objectKey = `private-uploads/2026/11/${newId()}-photo.png`
    return {
      uploadUrl: `${service.origin}/store/${objectKey}`,
      objectKey,
      method: 'PUT',
      headers: { 'Content-Type': 'image/png' },
      expiresAt: new Date(Date.now() + 900_000).toISOString(),
      maxFileSize: 20_971_520,
    }
  }

  async function createTask({ body, request }: Call) {
    const key = String(request.headers['idempotency-key'])
    const known = tasks.get(byIdempotencyKey.get(key) ?? '')
    if (known) return known
    const task = JSON.parse(body.toString())
    creations.push(task)
    const created = newTask(newId(), task.imageUrl, service.origin)
    tasks.set(created.id, created)
    byIdempotencyKey.set(key, created.id)
    await service.beforeCreation()
    return created
  }

  function change(id: string, status: string) {
    const task = tasks.get(id)
    if (task) task.status = status
    return task
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const baseUrl = `${origin}/api/v1`
  const service: FakeService = {
    origin,
    baseUrl,
    env: { MATTE_API_KEY: testKey, MATTE_BASE_URL: baseUrl },
    tasks,
    requests,
    creations,
    refuse: () => undefined,
    hasConsole: true,
    beforeCreation: async () => undefined,
    stream: (_request, response) => void response.end(),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return service
}

const checkKey = ({ headers }: IncomingMessage): Refusal | undefined =>
  headers['x-api-key'] === testKey
    ? undefined
    : { status: 401, code: 'API_KEY_INVALID', message: 'The API key is invalid.' }

function sendError(
  response: ServerResponse,
  { status, code, message = code, details = {}, headers = {} }: Refusal,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  send(response, status, { request_id: 'req-error', error: { code, message, details } })
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-ratelimit-limit': '1200' })
  response.end(JSON.stringify(value))
}

function newTask(id: string, objectKey: string, origin: string): FakeTask {
  return {
    id,
    objectKey,
    status: 'succeeded',
    modelVersion: 'service-v2',
    sourceUrl: objectKey,
    resultUrl: `${origin}/results/${id}.png`,
    creditCost: 1,
    durationMs: 320,
    createdAt: '2026-11-21T09:30:00.000Z',
    completedAt: '2026-11-21T09:30:01.000Z',
    batchId: null,
    callbackUrl: null,
    failure: null,
    width: 1,
    height: 1,
    resultFormat: 'png',
    retryCount: 0,
    foreground: null,
    confidence: 0.85,
    retention: null,
    erasedAt: null,
  }
}

const endpoint = {
  id: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
  targetUrl: 'https://example.com/hook',
  eventTypes: [],
  status: 'enabled',
  disabledReason: null,
  description: null,
  createdAt: '2026-11-21T09:30:00.000Z',
  updatedAt: '2026-11-21T09:30:00.000Z',
  lastDeliveryAt: null,
  lastDeliveryStatus: null,
  pausedSince: null,
  droppedDeliveries: 0,
}

const apiKey = {
  id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
  name: 'production',
  prefix: 'service_live_',
  lastFour: '9xQ2',
  scopes: ['uploads:write', 'tasks:read', 'tasks:write', 'api-keys:read', 'usage:read'],
  createdAt: '2026-11-01T08:00:00.000Z',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
}

const usage = {
  period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
  totalTasks: 3,
  succeededTasks: 2,
  failedTasks: 1,
  canceledTasks: 0,
  creditsConsumed: 2,
  apiRequests: 19,
  averageLatencyMs: 1_420,
  errorRate: 1 / 3,
  monthlyQuota: { limit: 1_000, used: 3, remaining: 997, resetsAt: '2026-12-01T00:00:00.000Z' },
  credits: { available: 812, held: 1 },
  daily: [],
}

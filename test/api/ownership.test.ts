// Every route of the Developer API (test/app covers the App) with every kind of credential and with ids of another
// workspace. Routes come from the service's own document, which contains every route that needs a credential
// (declared-access.ts refuses to start otherwise), so new routes are covered. A path parameter that is unknown here
// fails.
import { headersOf, listedHeadersOf } from '@matte/api/schemas/response-headers'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { isScope, scopes } from '@matte/core/workspace/scope'
import { buildDocument } from '@matte/generate/build-document'
import { beforeAll, describe, expect, it } from 'vitest'
import { formOf } from './doors.ts'
import { type Caller, smallImage, succeed, useApi } from './given.ts'

type Operation = {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly 'x-required-scope': string
  readonly deprecated?: boolean
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: { content: Record<string, { example: Record<string, unknown> }> }
  readonly responses: Record<string, { description: string; headers: Record<string, { $ref: string }> }>
}

const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }
const operations = Object.entries(paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  .filter((operation) => operation['x-required-scope'] !== undefined)

const world = useApi()

/** Resources of the victim. */
type Things = {
  readonly taskId: string
  readonly batchId: string
  readonly webhookId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly objectKey: string
}
/** No dispatcher runs here. */
const noWait = { headers: { prefer: 'wait=0' } }
let victim: Caller & { readonly things: Things; readonly signingSecret: string }

beforeAll(async () => {
  const caller = await world.caller({ plan: 'internal' })
  const { client } = caller
  const objectKey = await client.upload(await smallImage())
  const done = await client.createTask({ imageUrl: objectKey })
  await succeed(world.db, done.id)
  const { id: taskId } = await client.createTask({ imageUrl: objectKey })
  const make = async (path: string, body: object) => (await client.call<{ id: string }>('POST', path, { body })).data.id
  const batchId = await make('/batch-tasks', { imageUrls: [objectKey] })
  const webhookId = await make('/webhooks', { targetUrl: 'https://93.184.216.34/' })
  const { id: deliveryId } = (await client.call<{ id: string }>('POST', `/webhooks/${webhookId}/test`, noWait)).data
  const signingSecret = await client.signingSecret()
  victim = {
    ...caller,
    signingSecret,
    things: { taskId, batchId, webhookId, deliveryId, eventId: deliveryId, objectKey },
  }
})

/** The path with the victim's ids. @throws Error for an unknown parameter */
function fill(path: string): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (!Object.hasOwn(victim.things, name)) {
      throw new Error(`${path}: whose id is {${name}}? Give the victim one in ownership.test.ts.`)
    }
    return victim.things[name as keyof Things]
  })
}

/** The reference example as body, so only the credential is wrong. */
function bodyOf({ requestBody }: Operation): Record<string, unknown> | FormData | undefined {
  if (requestBody?.content['multipart/form-data'] !== undefined) return photo
  const example = requestBody?.content['application/json']?.example
  if (requestBody !== undefined && example === undefined) throw new Error('a request body has no example')
  return example
}

const photo = formOf({}, { name: 'file', bytes: await smallImage() })

/** Sends the request; the document must declare status and headers of the response. */
async function send(operation: Operation, apiKey: string | undefined, body: unknown) {
  const { method, path } = operation
  const ending = new AbortController()
  const response = await fetch(`${world.api.url}${fill(path)}`, {
    method,
    headers: {
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      // A form has its own; its answer must not wait for a worker.
      ...(body instanceof FormData && { prefer: 'wait=0' }),
      ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && {
      body: typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body),
    }),
    signal: ending.signal,
  })
  expectDocumentedHeaders(operation, response)
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  // An event stream never ends: its start is the response.
  const text = isStream ? '{}' : await response.text()
  if (isStream) ending.abort()
  const { error } = JSON.parse(text) as { error?: { code: string; details: object } }
  return { status: response.status, code: error?.code, details: error?.details, headers: response.headers, text }
}

/** Headers that every HTTP server may set, the one against sniffing, and the one for proxies before a stream. */
const unsaid = [
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  ...['x-content-type-options', 'x-accel-buffering'],
]

function expectDocumentedHeaders(operation: Operation, { status, headers }: Response): void {
  const { responses, deprecated = false, parameters = [] } = operation
  expect({ status, documented: Object.hasOwn(responses, status) }).toEqual({ status, documented: true })
  const idempotent = parameters.some(({ name }) => name === 'Idempotency-Key')
  const isCutOut = operation.operationId === 'createCutOut'
  const kind = { status, idempotent, deprecated, credential: 'key', isCutOut } as const
  const known = headersOf(kind)
  expect(Object.keys(responses[status]?.headers ?? {})).toEqual([...listedHeadersOf(kind).keys()])
  const required = [...known].flatMap(([name, always]) => (always ? [name] : []))
  expect({ status, missing: required.filter((name) => !headers.has(name)) }).toEqual({ status, missing: [] })
  const names = new Set([...unsaid, ...[...known.keys()].map((name) => name.toLowerCase())])
  expect({ status, unknown: [...headers.keys()].filter((name) => !names.has(name)) }).toEqual({ status, unknown: [] })
}

/** Codes that the document declares for a status of the operation. */
const documented = ({ responses }: Operation, status: number): readonly string[] =>
  responses[status]?.description.split(', ') ?? []

const others = (own: string) => scopes.filter((scope) => scope !== own)

type Kind = {
  readonly what: string
  readonly key: (operation: Operation) => Promise<string | undefined>
  readonly status: number
  readonly code: string
}
const kinds: readonly Kind[] = [
  { what: 'no key', key: async () => undefined, status: 401, code: 'API_KEY_MISSING' },
  { what: 'an empty key', key: async () => '', status: 401, code: 'API_KEY_MISSING' },
  { what: 'a key of another form', key: async () => 'sk_live_1234', status: 401, code: 'API_KEY_INVALID' },
  {
    what: 'a key with a wrong checksum',
    key: async () => generateApiKey().key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    status: 401,
    code: 'API_KEY_INVALID',
  },
  { what: 'an unknown key', key: async () => generateApiKey().key, status: 401, code: 'API_KEY_INVALID' },
  {
    what: 'a key that was revoked',
    key: async () => {
      const { apiKey, apiKeyId } = await world.caller()
      await revokeApiKey(world.db, apiKeyId)
      return apiKey
    },
    status: 401,
    code: 'API_KEY_INVALID',
  },
  {
    what: 'a key past its end',
    key: async () => (await world.caller({ expiresAt: new Date(Date.now() - 1_000) })).apiKey,
    status: 401,
    code: 'API_KEY_INVALID',
  },
  {
    what: 'a key on the Free plan',
    key: async () => (await world.caller({ plan: 'free' })).apiKey,
    status: 403,
    code: 'DEVELOPER_API_ACCESS_DENIED',
  },
  {
    what: 'a key with every scope but the route’s',
    key: async (operation) => (await world.caller({ scopes: others(operation['x-required-scope']) })).apiKey,
    status: 403,
    code: 'API_KEY_INSUFFICIENT_SCOPE',
  },
]

/** All visible resources of the victim, to compare. */
async function inventory(): Promise<unknown> {
  const { client, things } = victim
  const read = async (path: string) => (await client.call<Record<string, unknown>>('GET', path)).data
  const { resultUrl: _signedAfresh, ...task } = await read(`/tasks/${things.taskId}`)
  const { tasks: _their, ...batch } = await read(`/batch-tasks/${things.batchId}`)
  const { total } = await client.listTasks()
  const deliveries = await read(`/webhooks/${things.webhookId}/deliveries`)
  return [task, batch, await read(`/webhooks/${things.webhookId}`), await read('/webhooks'), deliveries, total]
}

it('the document has routes, each with an existing scope', () => {
  expect(operations.length).toBeGreaterThanOrEqual(19)
  for (const operation of operations) expect(isScope(operation['x-required-scope'])).toBe(true)
})

describe.each(operations)('$method $path', (operation) => {
  it.each(kinds)('returns $code to $what', async ({ key, status, code }) => {
    // An unreadable body: the credential is checked first (D4).
    const body = bodyOf(operation) && '{malformed'
    const answer = await send(operation, await key(operation), body)
    expect(answer).toMatchObject({ status, code })
    expect(documented(operation, status)).toContain(code)
    // Errors before authentication have no limit headers.
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
    if (code === 'API_KEY_INSUFFICIENT_SCOPE') {
      expect(answer.details).toMatchObject({ required: operation['x-required-scope'] })
    }
  })

  it('admits a key with only that scope', async () => {
    const { apiKey } = await world.caller({ scopes: [operation['x-required-scope']].filter(isScope) })
    const answer = await send(operation, apiKey, bodyOf(operation))
    expect(answer.code).not.toBe('API_KEY_INSUFFICIENT_SCOPE')
    expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull()
  })

  it('gives another workspace no access to the victim’s resources', async () => {
    const before = await inventory()
    const stranger = await world.caller({ plan: 'internal' })
    const answer = await send(operation, stranger.apiKey, withObjects(bodyOf(operation)))
    expect(answer.status).toBeLessThan(500)
    if (/\{\w+\}/.test(operation.path)) {
      // Like an unknown id: the route's own not-found error.
      expect(answer.status).toBe(404)
      expect(documented(operation, 404)).toEqual([answer.code])
    } else if (namesObjects(operation)) {
      expect(answer).toMatchObject({ status: 403, code: 'TASK_INPUT_FORBIDDEN' })
    } else if (operation.operationId === 'triggerWebhook' || operation.operationId === 'fetchUpload') {
      // The stranger has no open stream, and the installation fetches no URLs.
      expect(answer).toMatchObject({ status: 409, code: 'CONFLICT' })
    } else {
      expect(answer.status).toBeLessThan(300)
    }
    for (const secret of secretsOf(operation)) expect(answer.text).not.toContain(secret)
    expect(await inventory()).toEqual(before)
  })
})

const namesObjects = (operation: Operation): boolean =>
  ['imageUrl', 'imageUrls'].some((name) => Object.hasOwn(bodyOf(operation) ?? {}, name))

/** The example with the victim's object. */
function withObjects(body: ReturnType<typeof bodyOf>) {
  if (body === undefined || body instanceof FormData) return body
  const { objectKey } = victim.things
  return {
    ...body,
    ...(Object.hasOwn(body, 'imageUrl') && { imageUrl: objectKey }),
    ...(Object.hasOwn(body, 'imageUrls') && { imageUrls: [objectKey] }),
  }
}

/** Secret values; ids and keys that the stranger has sent may be returned. */
function secretsOf(operation: Operation): string[] {
  const { things, workspaceId, apiKeyId, signingSecret } = victim
  const { objectKey, ...ids } = things
  const sent = fill(operation.path)
  const all = [workspaceId, apiKeyId, signingSecret, ...Object.values(ids)].filter((text) => !sent.includes(text))
  return namesObjects(operation) ? all : [...all, objectKey]
}

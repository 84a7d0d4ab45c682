// The OpenAPI document. ownership.test.ts and schemathesis.faults.test.ts check that responses match the
// document; `make check` lints it.
import { generalHeaders } from '@matte/api/schemas/response-headers'
import { errorCodes } from '@matte/core/error'
import { findMissingExamples } from '@matte/generate/missing-examples'
import { writeOut } from '@matte/generate/resolve-document'
import { describe, expect, it } from 'vitest'
import { useApi } from './given.ts'
import { releasedOperations } from './released-operations.ts'

const world = useApi()

type Json = Record<string, unknown>
type Media = { schema: Json; example?: unknown; examples?: Record<string, { $ref: string }> }
type Operation = {
  operationId: string
  summary: string
  description?: string
  'x-required-scope': string
  tags: string[]
  deprecated?: boolean
  security?: unknown
  parameters?: { in: string; name: string; example?: unknown }[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, { description: string; headers: Json; content: Record<string, Media>; links?: Json }>
}
type Document = {
  openapi: string
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Json>
}

const readServed = async () => (await fetch(`${world.api.url}/api/v1/openapi.json`)).json() as Promise<Document>
const read = async (): Promise<Document> => writeOut(await readServed()) as Document
const operationsOf = ({ paths }: Document) => Object.values(paths).flatMap((methods) => Object.values(methods))

const developerOperationsOf = (document: Document) =>
  operationsOf(document).filter((operation) => operation['x-required-scope'] !== undefined)

const prefix = '/api/v1/open/developer'

function createTaskOf({ paths }: Document): Operation {
  const operation = paths[`${prefix}/tasks`]?.post
  if (operation === undefined) throw new Error('the document has no creation of tasks')
  return operation
}

describe('GET /api/v1/openapi.json', () => {
  it('is an OpenAPI 3.1 document with every route and its credential', async () => {
    const document = await read()
    expect(document.openapi).toMatch(/^3\.1\./)
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    // test/app/document.test.ts covers those of the App API. Operators have their own document.
    expect(routes.filter((route) => !route.includes(' /api/v1/app/')).sort()).toEqual(
      [
        `POST ${prefix}/uploads/presign`,
        `POST ${prefix}/uploads/fetch`,
        `POST ${prefix}/cut-outs`,
        `POST ${prefix}/tasks`,
        `GET ${prefix}/tasks`,
        `GET ${prefix}/tasks/{taskId}`,
        `DELETE ${prefix}/tasks/{taskId}`,
        `POST ${prefix}/tasks/{taskId}/retry`,
        `DELETE ${prefix}/tasks/{taskId}/images`,
        `POST ${prefix}/batch-tasks`,
        `GET ${prefix}/batch-tasks`,
        `GET ${prefix}/batch-tasks/{batchId}`,
        `DELETE ${prefix}/batch-tasks/{batchId}`,
        `GET ${prefix}/webhooks`,
        `POST ${prefix}/webhooks`,
        `GET ${prefix}/webhooks/{webhookId}`,
        `PATCH ${prefix}/webhooks/{webhookId}`,
        `DELETE ${prefix}/webhooks/{webhookId}`,
        `POST ${prefix}/webhooks/{webhookId}/rotate-secret`,
        `POST ${prefix}/webhooks/{webhookId}/test`,
        `POST ${prefix}/webhooks/{webhookId}/recover`,
        `GET ${prefix}/webhooks/{webhookId}/deliveries`,
        `GET ${prefix}/webhooks/callback-deliveries`,
        `GET ${prefix}/webhooks/stream`,
        `POST ${prefix}/webhooks/trigger`,
        `GET ${prefix}/webhooks/deliveries/{deliveryId}`,
        `GET ${prefix}/webhooks/events/{eventId}`,
        `GET ${prefix}/webhooks/egress-addresses`,
        `GET ${prefix}/webhooks/{webhookId}/stats`,
        `POST ${prefix}/webhooks/{webhookId}/samples`,
        `POST ${prefix}/webhooks/deliveries/{deliveryId}/redeliver`,
        `GET ${prefix}/signing-secret`,
        `GET ${prefix}/api-keys`,
        `GET ${prefix}/usage`,
        `GET ${prefix}/models`,
        'POST /v1/tasks',
        'GET /v1/tasks',
        'GET /v1/tasks/{taskId}',
        'DELETE /v1/tasks/{taskId}',
      ].sort(),
    )
    for (const { security, deprecated, operationId } of developerOperationsOf(document)) {
      expect(security).toEqual([{ apiKey: [] }])
      expect(deprecated ?? false).toBe(operationId.startsWith('legacy'))
    }
    expect(document.components.securitySchemes).toMatchObject({
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    })
  })

  it('names every operation once', async () => {
    const ids = operationsOf(await read()).map(({ operationId }) => operationId)
    expect(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('keeps the id of every released operation', async () => {
    const { paths } = await readServed()
    const now = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
    )
    expect(Object.fromEntries(now)).toMatchObject(releasedOperations)
  })

  it('has only valid references', async () => {
    const document = await readServed()
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(
      ([, reference = '']) => reference,
    )
    expect(references.length).toBeGreaterThan(100)
    for (const reference of new Set(references)) {
      const [, , kind = '', name = ''] = reference.split('/')
      expect(reference).toMatch(/^#\/components\/\w+\/[\w.-]+$/)
      expect(document.components[kind]).toHaveProperty([name])
    }
  })

  it('shows an example of every parameter, every body, every success and every code', async () => {
    const document = await read()
    expect(findMissingExamples(document)).toEqual([])
    for (const { operationId, parameters = [], requestBody, responses } of operationsOf(document)) {
      for (const { name, example } of parameters)
        expect({ operationId, name, shown: example ?? 'text' }).not.toMatchObject({ shown: 'text' })
      const body = requestBody?.content['application/json']
      if (body !== undefined) expect({ operationId, example: body.example }).toHaveProperty('example')
      for (const [status, { description, content }] of Object.entries(responses)) {
        if (content['application/pdf'] !== undefined) continue
        if (Object.hasOwn(content, 'text/event-stream')) {
          expect(operationId).toMatch(/^stream/)
        } else if (Number(status) >= 400) {
          expect(Object.keys(content['application/json']?.examples ?? {})).toEqual(description.split(', '))
        }
      }
    }
  })

  it('restricts each error status to its codes', async () => {
    const { responses } = createTaskOf(await read())
    expect(responses[429]?.content['application/json']?.schema).toEqual({
      allOf: [
        { $ref: '#/components/schemas/Error' },
        {
          properties: {
            error: {
              properties: {
                code: { enum: ['RATE_LIMIT_EXCEEDED', 'DEVELOPER_API_QUOTA_EXCEEDED'] },
                message: {},
                details: {},
              },
            },
          },
        },
      ],
    })
  })

  it('documents every status of creation with its codes, and the interface’s errors of creation', async () => {
    const { responses } = createTaskOf(await read())
    const codes = Object.values(responses).flatMap(({ description }) => description.split(', '))
    expect(Object.keys(responses)).toEqual(['201', '400', '401', '403', '404', '409', '429', '500', '503'])
    expect(codes).toEqual(
      expect.arrayContaining([
        'INVALID_PARAMS',
        'API_KEY_MISSING',
        'API_KEY_INVALID',
        'API_KEY_INSUFFICIENT_SCOPE',
        'CREDITS_INSUFFICIENT',
        'TASK_INPUT_FORBIDDEN',
        'TASK_FILE_SIZE_EXCEEDED',
        'TASK_FORMAT_NOT_SUPPORTED',
        'TASK_CONCURRENT_LIMIT',
        'RATE_LIMIT_EXCEEDED',
        'DEVELOPER_API_QUOTA_EXCEEDED',
        'TASK_MAINTENANCE',
      ]),
    )
  })

  it('contains every code', async () => {
    const codes = operationsOf(await read()).flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, { description }]) =>
        Number(status) < 400 ? [] : description.split(', '),
      ),
    )
    expect(errorCodes.filter((code) => !codes.includes(code))).toEqual([])
  })

  it('documents response headers', async () => {
    const document = await read()
    const { responses, parameters = [] } = createTaskOf(document)
    const headers = (status: number) => Object.keys(responses[status]?.headers ?? {})
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit-Policy', 'RateLimit']
    expect(headers(201)).toEqual(['X-Request-Id', 'Idempotent-Replayed'])
    expect(headers(401)).toEqual(['X-Request-Id'])
    expect(headers(429)).toEqual(expect.arrayContaining(['Retry-After', ...limits]))
    expect(headers(503)).toEqual(expect.arrayContaining(['Retry-After']))
    expect(Object.keys(document.paths['/v1/tasks']?.post?.responses[201]?.headers ?? {})).toEqual(
      expect.arrayContaining(['Deprecation', 'Link', 'Sunset']),
    )
    const general = generalHeaders().map(({ name }) => name)
    expect(general).toEqual(expect.arrayContaining([...limits, 'Cache-Control', 'X-Ignored-Fields']))
    for (const name of general) expect(document.info.description).toContain(`| \`${name}\` |`)
    const sent = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name)
    expect(sent.sort()).toEqual(['Idempotency-Key', 'Prefer'])
  })

  it('explains where a key goes, which scope an operation needs, and how to verify a webhook', async () => {
    const document = await read()
    for (const words of ['`X-API-Key:', '`X-Service-Signature:', '`<t>.<raw body>`', '`whsec_`']) {
      expect(document.info.description).toContain(words)
    }
    for (const operation of developerOperationsOf(document)) {
      expect(operation.description).toContain(`Needs the scope \`${operation['x-required-scope']}\`.`)
    }
  })

  it('links a response to the next request', async () => {
    const document = await read()
    const ids = operationsOf(document).map(({ operationId }) => operationId)
    const linked = operationsOf(document).flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ links = {} }) => Object.values(links) as { operationId: string }[]),
    )
    expect(linked.length).toBeGreaterThan(5)
    for (const { operationId } of linked) expect(ids).toContain(operationId)
  })
})

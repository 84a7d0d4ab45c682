// Checks of the OpenAPI document for readers and client generators. lint-contract.ts checks that examples match their
// schemas.
import { httpStatus } from '@matte/api/errors/http-status'
import { splitDocument } from '@matte/api/http/document/split-document'
import { eventCatalog, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { sampleHeader } from '@matte/core/webhook/sample-event'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { roles } from '@matte/core/workspace/role'
import { describe, expect, it } from 'vitest'
import { buildDocument, buildServedDocument } from './build-document.ts'

type Schema = {
  readonly $ref?: string
  readonly default?: unknown
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}
type Media = { readonly schema: Schema; readonly example?: unknown; readonly examples?: object }
type Parameter = { readonly name: string; readonly in: string; readonly description?: string; readonly schema: Schema }
type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly 'x-required-roles'?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Media>> }>
  >
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const served = (await buildServedDocument()) as Document
const { paths, webhooks } = (await buildDocument()) as Document
const operations = Object.values(paths).flatMap((methods) => Object.values(methods))

const codesOf = ({ responses }: Operation): string[] =>
  Object.entries(responses).flatMap(([status, { description }]) =>
    Number(status) < 400 ? [] : description.split(', '),
  )

describe('the errors of an operation', () => {
  it('are listed under the statuses of their codes', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { description }] of Object.entries(responses)) {
        if (Number(status) < 400) continue
        const statuses = description.split(', ').map((code) => httpStatus[code as keyof typeof httpStatus])
        expect({ operationId, statuses: [...new Set(statuses)] }).toEqual({ operationId, statuses: [Number(status)] })
      }
    }
  })

  it('name a missing role only where a member can lack it', () => {
    const all = operations.filter((operation) => operation['x-required-roles']?.length === roles.length)
    const refusing = all.filter((operation) => codesOf(operation).includes('AUTH_FORBIDDEN'))
    // Every member may leave a team; only owners and admins remove others.
    expect(refusing.map(({ operationId }) => operationId)).toEqual(['removeTeamMember'])
    for (const operation of operations) {
      const { operationId, 'x-required-roles': wanted = roles } = operation
      if (wanted.length < roles.length) expect([operationId, ...codesOf(operation)]).toContain('AUTH_FORBIDDEN')
    }
  })

  it('name invalid input only where input is read', () => {
    const without = operations.filter((operation) => !codesOf(operation).includes('INVALID_PARAMS'))
    expect(without.map(({ operationId }) => operationId)).toEqual(['getTaskPreview', 'getInvoicePdf'])
  })
})

describe('a default', () => {
  const fieldsOf = ({ operationId, parameters = [], requestBody }: Operation) => {
    const queries = parameters.filter((parameter) => parameter.in === 'query')
    const body = requestBody?.content['application/json']?.schema
    return [
      ...queries.map(({ name, description, schema }) => ({ operationId, name, field: { description, ...schema } })),
      ...walk(body ?? {}).map(([name, field]) => ({ operationId, name, field })),
    ]
  }
  const resolve = ({ $ref, ...beside }: Schema): Schema => ({
    ...($ref !== undefined && served.components.schemas[$ref.split('/').at(-1) ?? '']),
    ...beside,
  })
  const walk = (schema: Schema): [string, Schema][] =>
    Object.entries(resolve(schema).properties ?? {}).flatMap(([name, field]) => [[name, field], ...walk(field)])
  const fields = operations.flatMap(fieldsOf)

  it('is a member of the schema and not of the prose', () => {
    expect(fields.length).toBeGreaterThan(100)
    const spoken = fields.filter(({ field }) => /by default|the default\b(?! secret)/i.test(field.description ?? ''))
    const silent = spoken.filter(({ field }) => field.default === undefined && field.description !== undefined)
    expect(silent.map(({ operationId, name }) => `${operationId} ${name}`)).toEqual([])
  })

  it('is declared for paging, models, results, overlaps and events', () => {
    const declared = new Map(
      fields.flatMap(({ name, field }) => (field.default === undefined ? [] : [[name, field.default]])),
    )
    expect(Object.fromEntries(declared)).toMatchObject({
      page: 1,
      pageSize: 20,
      modelVersion: 'service-v2',
      format: 'png',
      background: 'transparent',
      crop: false,
      channels: 'rgba',
      overlapSeconds: 86_400,
      eventTypes: [],
      dryRun: false,
      runs: 'current',
      endOtherSessions: true,
    })
  })
})

describe('the webhooks', () => {
  it('are the events of the interface and the test event, with the fields of their bodies and an example', () => {
    expect(Object.keys(webhooks)).toEqual([...webhookEvents, testEvent])
    for (const event of webhookEvents) {
      const { schema, example } = webhooks[event]?.post.requestBody?.content['application/json'] ?? {}
      const { $ref = '' } = (schema ?? {}) as { $ref?: string }
      const fields = ['event', ...Object.keys(eventCatalog[event].fields)]
      expect(Object.keys(served.components.schemas[$ref.split('/').at(-1) ?? '']?.properties ?? {})).toEqual(fields)
      expect(Object.keys(example ?? {})).toEqual(fields)
      expect(example).toMatchObject({ event })
    }
  })

  it('have the headers that are sent', () => {
    const sent = signatureHeaders({
      id: 'a',
      timestamp: 1,
      body: '{}',
      secret: 'whsec_AAAA',
      previousSecret: undefined,
    })
    for (const { post } of Object.values(webhooks)) {
      const named = (post.parameters as unknown as { $ref: string }[]).map(({ $ref }) => $ref.split('/').at(-1))
      expect(named).toEqual(Object.keys({ ...sent, ...sampleHeader }))
    }
  })
})

it('every operation has a summary, a description and a unique id, including webhooks', () => {
  const all = [...operations, ...Object.values(webhooks).map(({ post }) => post)]
  for (const { operationId, summary, description } of all) {
    expect([operationId, summary, description].every((text) => text !== undefined && text !== '')).toBe(true)
  }
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length)
})

/** Objects of the document by their path, such as `components.schemas.Task`. */
function walkObjects(part: unknown, path: string): [string, Record<string, unknown>][] {
  if (typeof part !== 'object' || part === null) return []
  const members = Object.entries(part).flatMap(([name, member]) => walkObjects(member, `${path}.${name}`))
  return [[path, part as Record<string, unknown>], ...members]
}

it('a schema has one shape: only a login and a stream of two kinds of event have several', () => {
  const several = walkObjects(served, '').filter(([, part]) => 'anyOf' in part || 'oneOf' in part)
  const parents = several.map(([path]) =>
    path
      .match(/\.paths\.([^.]+)\.(\w+)\./)
      ?.slice(1, 3)
      .join(' '),
  )
  expect(parents.sort()).toEqual(['/api/v1/app/auth/login post', '/api/v1/open/developer/webhooks/stream get'])
})

it('a field that can be null says so in its type', () => {
  const nullable = walkObjects(served, '').filter(
    ([, { enum: values }]) => Array.isArray(values) && values.includes(null),
  )
  for (const [path, { type }] of nullable)
    expect({ path, type }).toEqual({ path, type: expect.arrayContaining(['null']) })
  expect(nullable.length).toBeGreaterThan(3)
})

it('every operation has the response of an unlisted status', () => {
  for (const methods of Object.values(served.paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      const { $ref } = responses.default as unknown as { $ref: string }
      expect([operationId, $ref]).toEqual([operationId, expect.stringMatching(/SYSTEM_INTERNAL_ERROR/)])
    }
  }
})

describe('the documents of callers and of operators', () => {
  const { callers, operators } = splitDocument(served as never) // the served document has wider types

  it('have at most 380 and 50 KB', () => {
    expect(JSON.stringify(callers).length).toBeLessThanOrEqual(380_000)
    expect(JSON.stringify(operators).length).toBeLessThanOrEqual(50_000)
  })

  it('have each path once, and what they refer to', () => {
    const paths = [...Object.keys(callers.paths), ...Object.keys(operators.paths)]
    expect(paths.sort()).toEqual(Object.keys(served.paths).sort())
    expect(Object.keys(operators.paths).every((path) => path.startsWith('/api/v1/operator/'))).toBe(true)
    expect(JSON.stringify(callers)).not.toMatch(/OperatorPool|operatorToken/)
    for (const { components, ...document } of [callers, operators]) {
      const text = JSON.stringify([document, components])
      for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
        expect(components[kind], `${kind} ${name}`).toHaveProperty([name])
      }
    }
  })
})

it('a schema that extends another is derived from it', () => {
  expect(served.components.schemas.NewWebhookEndpoint).toMatchObject({
    allOf: [{ $ref: '#/components/schemas/WebhookEndpoint' }, { properties: { signingSecret: { type: 'string' } } }],
  })
  expect(served.components.schemas.Batch).toMatchObject({
    allOf: [{ $ref: '#/components/schemas/BatchSummary' }, { required: ['tasks'] }],
  })
})

it('shared parts are written once', () => {
  const shared = Object.values(served.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.entries(responses)),
  )
  const texts = shared.map(([, response]) => JSON.stringify(response)).filter((text) => !text.startsWith('{"$ref"'))
  expect(new Set(texts).size).toBe(texts.length)
})

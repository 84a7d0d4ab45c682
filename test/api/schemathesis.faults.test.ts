// Schemathesis against the live service, per kind of credential. It sends requests that the service's own document
// allows and forbids, single and in sequences. No response may be a 5xx, have an undocumented status, code or header,
// or break its schema.
import type { ErrorCode } from '@matte/core/error'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Document,
  examine as examineApi,
  readDocument,
  type Schema,
  timeoutMs,
} from '../support/schemathesis/examine.ts'
import { type CallerOptions, smallImage, succeed, useApi } from './given.ts'

// No dispatcher runs here, so a test event would wait for its maximum time.
const operatorToken = 'f'.repeat(64)
const world = useApi({ TASKS_MAX_WAIT: '1', OPERATOR_TOKEN: operatorToken })

/** An endless stream. */
const streaming = '/api/v1/open/developer/webhooks/stream'
/** Its bodies are photos, which no schema describes; cut-outs.test.ts sends good and bad ones. */
const ofPhotos = '/api/v1/open/developer/cut-outs'

/** test/app examines the App API. */
const isElsewhere = (path: string): boolean => path.startsWith('/api/v1/app/')

type Wanted = Omit<Parameters<typeof examineApi>[0], 'url' | 'document' | 'header'>

/** With a key; test/app examines the App API. */
const examine = (apiKey: string | undefined, wanted: Wanted, of = document): Promise<number> =>
  examineApi({ url: world.api.url, document: of, header: apiKey && `X-API-Key: ${apiKey}`, ...wanted })

let document: Document
let cursor: string
beforeAll(async () => {
  document = await readDocument(world.api.url, (path) => !isElsewhere(path) && path !== streaming && path !== ofPhotos)
  cursor = await givenCursor()
})

async function givenCursor(): Promise<string> {
  const { client } = await world.caller()
  const imageUrl = await client.upload(await smallImage())
  for (let i = 0; i < 2; i++) await client.createTask({ imageUrl })
  return (await client.listTasks({ pageSize: '1' })).nextCursor ?? ''
}

/**
 * The document with meaningful values in place of arbitrary ones, so no generated request breaks a rule that schemas
 * cannot express. Omits values that work once, such as an idempotency key or a page beside a cursor.
 */
function withRealValues({ imageUrl }: { imageUrl: string }): Document {
  const bodies: Record<string, Schema> = {
    imageUrl: { type: 'string', enum: [imageUrl] },
    imageUrls: { type: 'array', items: { type: 'string', enum: [imageUrl] }, minItems: 1, maxItems: 3 },
    modelVersion: { type: ['string', 'null'], enum: ['service-v2', null] },
    callbackUrl: { type: ['string', 'null'], enum: ['https://93.184.216.34/callback', null] },
    targetUrl: { type: 'string', enum: ['https://93.184.216.34/hook'] },
    output: { enum: [null, {}, { format: 'webp', crop: true }, { format: 'jpeg', background: '#ffffff' }] },
    contentType: { type: 'string', enum: ['image/png', 'image/jpeg', 'image/webp'] },
    since: { type: 'string', enum: ['2026-03-01', '2026-03-01T10:00:00Z'] },
    until: { type: ['string', 'null'], enum: ['2026-03-02', '2026-03-02T10:00:00Z', null] },
    fileSize: { type: ['integer', 'null'], minimum: 1, maximum: 10_000_000 },
  }
  const parameters: Record<string, Schema> = {
    cursor: { type: 'string', enum: [cursor] },
    startDate: { type: 'string', enum: ['2026-03-01', '2026-03-01T10:00:00Z'] },
    endDate: { type: 'string', enum: ['2026-03-02', '2026-03-02T10:00:00+02:00'] },
  }
  const copy = structuredClone(document)
  for (const operation of Object.values(copy.paths).flatMap((methods) => Object.values(methods))) {
    const { properties = {} } = operation.requestBody?.content['application/json']?.schema ?? {}
    for (const name of Object.keys(properties)) properties[name] = bodies[name] ?? properties[name] ?? {}
    operation.parameters = (operation.parameters ?? [])
      .filter(({ name }) => name !== 'Idempotency-Key' && name !== 'page')
      .map((parameter) => {
        const { example: _madeUp, ...rest } = parameter
        const schema = parameters[parameter.name]
        return schema === undefined ? parameter : { ...rest, schema }
      })
  }
  return copy
}

/** Generated ids are mostly unknown; some are those of earlier requests, in any state. */
const ofResources = [
  'DEVELOPER_TASK_NOT_FOUND',
  'DEVELOPER_BATCH_NOT_FOUND',
  'NOT_FOUND',
  'TASK_CANNOT_CANCEL',
  'TASK_NOT_RETRYABLE',
  'CONFLICT', // of a canceled delivery, or a disabled endpoint
] as const
const ofInput = [
  'INVALID_PARAMS', // within the exceptions of hooks.py
  'TASK_INPUT_FORBIDDEN',
  'TASK_FORMAT_NOT_SUPPORTED',
  'TASK_FILE_SIZE_EXCEEDED',
] as const
const ofLimits = ['CREDITS_INSUFFICIENT', 'TASK_CONCURRENT_LIMIT', 'RATE_LIMIT_EXCEEDED'] as const

describe('Schemathesis finds no problem', () => {
  it('with the token of operators', { timeout: timeoutMs }, async () => {
    const made = await examineApi({
      ...{ url: world.api.url, header: `Authorization: Bearer ${operatorToken}` },
      document: await readDocument(world.api.url, () => true, '/api/v1/operator/openapi.json'),
      ...{ phases: 'examples,coverage,fuzzing', examples: 10 },
      refusals: ['NOT_FOUND', 'INVALID_PARAMS', 'RATE_LIMIT_EXCEEDED', 'AUTH_INVALID_TOKEN'],
    })
    expect(made).toBeGreaterThan(50)
  })

  it('with a key of all scopes', { timeout: timeoutMs }, async () => {
    const { apiKey } = await world.caller({ plan: 'internal' })
    const refusals = [...ofResources, ...ofInput]
    const made = await examine(apiKey, { phases: 'examples,coverage,fuzzing', examples: 25, refusals })
    expect(made).toBeGreaterThan(1_000)
  })

  it('in sequences of requests on real resources', { timeout: timeoutMs }, async () => {
    const { apiKey, client, workspaceId } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    await succeed(world.db, (await client.createTask({ imageUrl })).id)
    const wanted = { phases: 'examples,stateful', examples: 60, mode: 'positive', refusals: ofResources } as const
    expect(await examine(apiKey, wanted, withRealValues({ imageUrl }))).toBeGreaterThan(100)
    // The sequences created tasks, batches and endpoints.
    const { rows } = await sql<{ tasks: number; batches: number; endpoints: number }>`
      select (select count(*) from task where workspace_id = ${workspaceId}) as tasks,
             (select count(distinct batch_id) from task where workspace_id = ${workspaceId}) as batches,
             (select count(*) from webhook_endpoint where workspace_id = ${workspaceId}) as endpoints`.execute(world.db)
    expect(rows[0]?.tasks).toBeGreaterThan(5)
    expect(rows[0]?.batches).toBeGreaterThan(0)
    // Each is followed by up to six requests, so there are fewer of them.
    expect(rows[0]?.endpoints).toBeGreaterThan(2)
  })

  it('on a plan whose limits are soon reached', { timeout: timeoutMs }, async () => {
    const { apiKey, client } = await world.caller({ plan: 'pro', credits: 3 })
    const imageUrl = await client.upload(await smallImage())
    const refusals = [...ofResources, ...ofLimits]
    const wanted = { phases: 'coverage,fuzzing', examples: 5, mode: 'positive', refusals } as const
    expect(await examine(apiKey, wanted, withRealValues({ imageUrl }))).toBeGreaterThan(100)
  })

  const key = async (options: CallerOptions) => (await world.caller({ plan: 'internal', ...options })).apiKey
  it.each<[string, ErrorCode, () => Promise<string | undefined>]>([
    ['no key', 'API_KEY_MISSING', async () => undefined],
    ['an unknown key', 'API_KEY_INVALID', async () => generateApiKey().key],
    ['a key of another form', 'API_KEY_INVALID', async () => 'service_live_short'],
    ['a key without a scope', 'API_KEY_INSUFFICIENT_SCOPE', () => key({ scopes: [] })],
    ['a key that is past its end', 'API_KEY_INVALID', () => key({ expiresAt: new Date(Date.now() - 1_000) })],
    ['a key on the Free plan', 'DEVELOPER_API_ACCESS_DENIED', () => key({ plan: 'free' })],
    [
      'a key that was revoked',
      'API_KEY_INVALID',
      async () => {
        const { apiKey, apiKeyId } = await world.caller()
        await revokeApiKey(world.db, apiKeyId)
        return apiKey
      },
    ],
  ])('with %s, rejected as %s', { timeout: timeoutMs }, async (_what, code, credential) => {
    const wanted = { phases: 'coverage', examples: 3, refusals: [code], refusesAll: true }
    expect(await examine(await credential(), wanted)).toBeGreaterThan(300)
  })
})

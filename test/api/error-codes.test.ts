// Every error code of the interface, triggered through HTTP. Each entry of the table below runs as a test, and a code
// of the interface without an entry fails.
import { errorExamples } from '@matte/api/schemas/error-examples'
import { errorCodes } from '@matte/core/error'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { givenUpload } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { type CallerOptions, claim, smallImage, useApi } from './given.ts'

/** Error table of the interface, in its order, with its statuses. */
const contract = {
  INVALID_PARAMS: 400,
  API_KEY_MISSING: 401,
  API_KEY_INVALID: 401,
  AUTH_INVALID_TOKEN: 401,
  CREDITS_INSUFFICIENT: 400,
  API_KEY_INSUFFICIENT_SCOPE: 403,
  AUTH_FORBIDDEN: 403,
  DEVELOPER_API_ACCESS_DENIED: 403,
  TASK_MAINTENANCE: 503,
  TASK_BATCH_DISABLED: 400,
  TASK_BATCH_NOT_SUPPORTED: 400,
  TASK_BATCH_SIZE_EXCEEDED: 400,
  TASK_INPUT_FORBIDDEN: 403,
  TASK_FILE_SIZE_EXCEEDED: 400,
  TASK_FORMAT_NOT_SUPPORTED: 400,
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: 400,
  TASK_CONCURRENT_LIMIT: 400,
  TASK_NOT_RETRYABLE: 400,
  TASK_RETRY_LIMIT_EXCEEDED: 400,
  TASK_STORAGE_UNAVAILABLE: 503,
  DEVELOPER_TASK_NOT_FOUND: 404,
  DEVELOPER_BATCH_NOT_FOUND: 404,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TASK_CANNOT_CANCEL: 409,
  RATE_LIMIT_EXCEEDED: 429,
  DEVELOPER_API_QUOTA_EXCEEDED: 429,
  SYSTEM_INTERNAL_ERROR: 500,
} as const

type Code = keyof typeof contract
type Request = {
  readonly method?: string
  /** Path below `/api/v1/open/developer`, or a full URL. */
  readonly path: string
  readonly body?: unknown
  /** No key is sent if undefined. */
  readonly apiKey?: string
}
type Test = {
  /** Completes "…returns CODE". */
  readonly when: string
  /** Prepares the error; returns the request to reject. */
  readonly given: () => Promise<Request>
  /** Exact content of `details`. */
  readonly details: object
  /** Repeats the request until it gets this error: a switch takes up to 5 s, and a limit may reset at any moment. */
  readonly eventually?: true
}
/** Unreachable before the App API accepts access tokens. */
const waitsForAppApi = Symbol('waits for the App API')

const any = expect.anything()
const nobody = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'

const world = useApi({
  // Plans that quickly reach limits of the default ones.
  PLANS: JSON.stringify({
    business: { batchLimit: 0, monthlyQuota: 1 },
    internal: { requestsPerMinute: 1 },
    enterprise: { outputFormats: ['png'], concurrentTasks: 1 },
  }),
})
const storeless = useApi({ S3_ENDPOINT: 'http://127.0.0.1:1' })
const switched = useApi()
const at = ({ api }: typeof world, path: string): string => `${api.url}/api/v1/open/developer${path}`

const given = async (options?: CallerOptions) => {
  const { apiKey, client, workspaceId } = await world.caller(options)
  const upload = async () => client.upload(await smallImage())
  const create = async () => client.createTask({ imageUrl: await upload() })
  return { apiKey, client, workspaceId, upload, create }
}
const post = (path: string, body: unknown, apiKey: string): Request => ({ method: 'POST', path, body, apiKey })

const tests: Readonly<Record<Code, Test | typeof waitsForAppApi>> = {
  INVALID_PARAMS: {
    when: 'a field is missing',
    given: async () => post('/uploads/presign', { fileName: 'a.png' }, (await given()).apiKey),
    details: { issues: [{ path: '/body/contentType', message: 'is required' }] },
  },
  API_KEY_MISSING: { when: 'no key is sent', given: async () => ({ path: '/tasks' }), details: {} },
  API_KEY_INVALID: {
    when: 'the key is unknown',
    given: async () => ({ path: '/tasks', apiKey: generateApiKey().key }),
    details: {},
  },
  AUTH_INVALID_TOKEN: waitsForAppApi,
  CREDITS_INSUFFICIENT: {
    when: 'there is no credit for the task',
    given: async () => {
      const { apiKey, upload } = await given({ credits: 0 })
      return post('/tasks', { imageUrl: await upload() }, apiKey)
    },
    details: { required: 1, available: 0 },
  },
  API_KEY_INSUFFICIENT_SCOPE: {
    when: 'the key has another scope only',
    given: async () => ({ path: '/tasks', apiKey: (await given({ scopes: ['uploads:write'] })).apiKey }),
    details: { required: 'tasks:read', scopes: ['uploads:write'] },
  },
  // An invalid result link has this code already; the App API has more cases.
  AUTH_FORBIDDEN: {
    when: 'a link to a result is forged',
    given: async () => ({
      path: `${world.api.url}/files/results/${nobody}/1-${nobody}.png?expires=9999999999&signature=forged`,
    }),
    details: {},
  },
  DEVELOPER_API_ACCESS_DENIED: {
    when: 'the plan has no API access',
    given: async () => ({ path: '/tasks', apiKey: (await given({ plan: 'free' })).apiKey }),
    details: { plan: 'free' },
  },
  TASK_MAINTENANCE: {
    when: 'maintenance is on',
    given: async () => {
      const { apiKey } = await switched.caller()
      await writeSetting(switched.db, 'maintenance', true)
      return post(at(switched, '/tasks'), { imageUrl: 'a.png' }, apiKey)
    },
    details: {},
    eventually: true,
  },
  TASK_BATCH_DISABLED: {
    when: 'batches are switched off',
    given: async () => {
      const { apiKey } = await switched.caller()
      await writeSetting(switched.db, 'maintenance', false)
      await writeSetting(switched.db, 'batchEnabled', false)
      return post(at(switched, '/batch-tasks'), { imageUrls: ['a.png'] }, apiKey)
    },
    details: {},
    eventually: true,
  },
  TASK_BATCH_NOT_SUPPORTED: {
    when: 'the plan has no batches',
    given: async () => post('/batch-tasks', { imageUrls: ['a.png'] }, (await given({ plan: 'business' })).apiKey),
    details: {},
  },
  TASK_BATCH_SIZE_EXCEEDED: {
    when: 'a batch has more images than the plan takes',
    given: async () => post('/batch-tasks', { imageUrls: Array(6).fill('a.png') }, (await given()).apiKey),
    details: { limit: 5, size: 6 },
  },
  TASK_INPUT_FORBIDDEN: {
    when: 'the object key is another workspace’s',
    given: async () => {
      const other = await given()
      return post('/tasks', { imageUrl: await other.upload() }, (await given()).apiKey)
    },
    details: {},
  },
  TASK_FILE_SIZE_EXCEEDED: {
    when: 'the file is to be larger than the plan takes',
    given: async () => {
      const body = { fileName: 'a.png', contentType: 'image/png', fileSize: 20_971_521 }
      return post('/uploads/presign', body, (await given()).apiKey)
    },
    details: { limit: 'bytes', fileSize: 20_971_521, maxFileSize: 20_971_520 },
  },
  TASK_FORMAT_NOT_SUPPORTED: {
    when: 'the file is to be of another type',
    given: async () =>
      post('/uploads/presign', { fileName: 'a.gif', contentType: 'image/gif' }, (await given()).apiKey),
    details: { allowed: ['image/png', 'image/jpeg', 'image/webp'] },
  },
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: {
    when: 'the plan has no such output',
    given: async () => {
      const { apiKey, upload } = await given({ plan: 'enterprise' })
      return post('/tasks', { imageUrl: await upload(), output: { format: 'webp' } }, apiKey)
    },
    details: { allowed: ['png'] },
  },
  TASK_CONCURRENT_LIMIT: {
    when: 'as many tasks are open as the plan takes',
    given: async () => {
      const { apiKey, upload, create } = await given({ plan: 'enterprise' })
      await create()
      return post('/tasks', { imageUrl: await upload() }, apiKey)
    },
    details: { limit: 1 },
  },
  TASK_NOT_RETRYABLE: {
    when: 'the task has not failed',
    given: async () => {
      const { apiKey, create } = await given()
      return { method: 'POST', path: `/tasks/${(await create()).id}/retry`, apiKey }
    },
    details: { status: 'queued' },
  },
  TASK_RETRY_LIMIT_EXCEEDED: {
    when: 'the task has been retried three times',
    given: async () => {
      const { apiKey, create } = await given()
      const { id } = await create()
      await failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')
      await sql`update task set retry_count = 3 where id = ${id}`.execute(world.db)
      return { method: 'POST', path: `/tasks/${id}/retry`, apiKey }
    },
    details: { limit: 3, retryCount: 3 },
  },
  TASK_STORAGE_UNAVAILABLE: {
    when: 'the object store cannot be reached',
    given: async () => {
      const { apiKey, workspaceId } = await storeless.caller()
      const { objectKey } = await givenUpload(storeless.db, workspaceId)
      return post(at(storeless, '/tasks'), { imageUrl: objectKey }, apiKey)
    },
    details: {},
  },
  DEVELOPER_TASK_NOT_FOUND: {
    when: 'there is no such task',
    given: async () => ({ path: `/tasks/${nobody}`, apiKey: (await given()).apiKey }),
    details: {},
  },
  DEVELOPER_BATCH_NOT_FOUND: {
    when: 'there is no such batch',
    given: async () => ({ path: `/batch-tasks/${nobody}`, apiKey: (await given()).apiKey }),
    details: {},
  },
  NOT_FOUND: {
    when: 'there is no such webhook endpoint',
    given: async () => ({ path: `/webhooks/${nobody}`, apiKey: (await given()).apiKey }),
    details: {},
  },
  CONFLICT: {
    when: 'there are a hundred webhook endpoints',
    given: async () => {
      const { apiKey, workspaceId } = await given()
      await sql`insert into webhook_endpoint (workspace_id, target_url, target_href, target_host, secret_sealed)
                select ${workspaceId}::uuid, 'x', 'x', 'x', 'x' from generate_series(1, 100)`.execute(world.db)
      return post('/webhooks', { targetUrl: 'https://93.184.216.34/' }, apiKey)
    },
    details: { limit: 100 },
  },
  TASK_CANNOT_CANCEL: {
    when: 'the task is processing',
    given: async () => {
      const { apiKey, create } = await given()
      const { id } = await create()
      await claim(world.db, id)
      return { method: 'DELETE', path: `/tasks/${id}`, apiKey }
    },
    details: { status: 'processing' },
  },
  RATE_LIMIT_EXCEEDED: {
    when: 'the minute’s requests are used up',
    given: async () => ({ path: '/tasks', apiKey: (await given({ plan: 'internal' })).apiKey }),
    details: { limit: 'requests', perMinute: 1, resetsAt: any },
    eventually: true,
  },
  DEVELOPER_API_QUOTA_EXCEEDED: {
    when: 'the month’s tasks are used up',
    given: async () => {
      const { apiKey, upload, create } = await given({ plan: 'business' })
      await create()
      return post('/tasks', { imageUrl: await upload() }, apiKey)
    },
    details: { limit: 1, resetsAt: any },
  },
  SYSTEM_INTERNAL_ERROR: {
    when: 'the service is at fault',
    given: async () => {
      const { apiKey, workspaceId } = await given()
      // A plan that is no longer configured, which callers cannot fix.
      await sql`update workspace set plan = 'forgotten' where id = ${workspaceId}`.execute(world.db)
      return { path: '/tasks', apiKey }
    },
    details: {},
  },
}

async function send({ method = 'GET', path, body, apiKey }: Request) {
  const response = await fetch(path.startsWith('http') ? path : at(world, path), {
    method,
    headers: {
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { response, body: (await response.json()) as { request_id: string; error?: { code: Code; message: string } } }
}

it('covers every code of the interface, and no others', () => {
  expect(Object.keys(tests).sort()).toEqual(Object.keys(contract).sort())
  expect([...errorCodes].sort()).toEqual(Object.keys(contract).sort())
  const waiting = Object.entries(tests).flatMap(([code, test]) => (test === waitsForAppApi ? [code] : []))
  expect(waiting).toEqual(['AUTH_INVALID_TOKEN'])
})

describe('the API returns', () => {
  const all = Object.entries(tests).flatMap(([code, test]) =>
    test === waitsForAppApi ? [] : [{ code: code as Code, ...test }],
  )
  it.each(all)('$code when $when', async ({ code, given, details, eventually }) => {
    const request = await given()
    const answered = eventually
      ? await until(`it is answered ${code}`, async () => {
          const answer = await send(request)
          return answer.body.error?.code === code && answer
        })
      : await send(request)
    const { response, body } = answered
    expect(body).toEqual({ request_id: any, error: { code, message: any, details } })
    expect(response.status).toBe(contract[code])
    expect(response.headers.get('x-request-id')).toBe(body.request_id)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    // Text for a person: no markup, no JSON, no stack.
    expect(body.error?.message).toMatch(/^[^{}<>\n]{10,200}$/)
    const retryAfter = response.headers.get('retry-after')
    if (response.status === 429 || response.status === 503) expect(retryAfter).toMatch(/^[1-9]\d{0,3}$/)
    else expect(retryAfter).toBeNull()
  })

  it('with the details of the reference', () => {
    // CONFLICT has several kinds, and the reference shows another one.
    for (const { code, details } of all.filter((test) => test.code !== 'CONFLICT')) {
      const shown = errorExamples[code].details ?? {}
      expect({ code, details: Object.keys(shown).sort() }).toEqual({ code, details: Object.keys(details).sort() })
    }
  })
})

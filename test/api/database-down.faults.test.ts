import { generateApiKey } from '@matte/core/workspace/api-key'
import { buildDocument } from '@matte/generate/build-document'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { givenPerson } from '../support/app/people.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { givenCaller } from './given.ts'
import { type Relay, relay } from './relay.ts'

type Operation = {
  readonly 'x-access'?: string
  readonly requestBody?: { content: Record<string, { example: unknown }> }
}

const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody, ...operation }]) => {
    // A webhook with a wrong signature needs no database; open streams have their own tests.
    if (operation['x-access'] === 'provider' || path.endsWith('/stream')) return []
    return { method: method.toUpperCase(), path, body: requestBody?.content['application/json']?.example }
  }),
)

const operatorToken = 'f'.repeat(64)

let database: TestDatabase
let path: Relay
let api: TestApi

beforeAll(async () => {
  database = await createTestDatabase()
  path = await relay(Number(new URL(database.url).port))
  const url = Object.assign(new URL(database.url), { port: path.port }).href
  api = await startApi({ DATABASE_URL: url, OPERATOR_TOKEN: operatorToken })
})
afterAll(async () => {
  await api.stop()
  await path.close()
  await database.drop()
})

describe('while the database is unreachable', () => {
  it('the API returns SYSTEM_INTERNAL_ERROR with Retry-After and no internal details, and recovers with the database', async () => {
    const client = api.client(generateApiKey().key)
    await expect(client.listTasks()).rejects.toMatchObject({ code: 'API_KEY_INVALID' })
    await path.cut()
    const error = await client.listTasks().catch((fault: { message: string; headers: Headers }) => fault)
    expect(error).toMatchObject({ status: 500, code: 'SYSTEM_INTERNAL_ERROR', details: {} })
    const { message, headers } = error as { message: string; headers: Headers }
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(message).not.toMatch(/connect|postgres|ECONN|127\.0\.0\.1|at /i)
    const pile = Array.from({ length: 100 }, () => client.listTasks().catch((fault: { code: string }) => fault.code))
    expect(new Set(await Promise.all(pile))).toEqual(new Set(['SYSTEM_INTERNAL_ERROR']))
    // Both cached results may be a second old.
    await until('the API is not ready', async () => (await fetch(`${api.url}/readyz`)).status === 503)
    expect(await (await fetch(`${api.url}/readyz`)).json()).toEqual({ ready: false })
    const ready = await fetch(`${api.healthUrl}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { database: 'unavailable' } }])
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
    await path.mend()
    // For a quarter of a second after a failure, only one request tries the database.
    await until('the API is back', async () => (await fetch(`${api.url}/readyz`)).ok)
    await expect(client.listTasks()).rejects.toMatchObject({ code: 'API_KEY_INVALID' })
  })

  it('every operation returns Retry-After, to cached callers and to others', async () => {
    const [known, unknown] = [await givenCaller(database.db, api), await givenCaller(database.db, api)]
    const people = [await givenPerson(database.db, api), await givenPerson(database.db, api)]
    // The API caches a caller for a while.
    await known.client.listTasks()
    await people[0]?.client.call('GET', '/credits/balance')
    await path.cut()
    expect(operations.length).toBeGreaterThan(20)
    for (const [index, { apiKey }] of [known, unknown].entries()) {
      for (const { method, path: template, body } of operations) {
        const isOfOperators = template.startsWith('/api/v1/operator/')
        const authorization = `Bearer ${isOfOperators ? operatorToken : people[index]?.accessToken}`
        const response = await fetch(api.url + template.replace(/\{\w+\}/g, crypto.randomUUID()), {
          method,
          headers: {
            'x-api-key': apiKey,
            authorization,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const { error } = (await response.json()) as { error: { code: string } }
        const retryAfter = Number(response.headers.get('retry-after'))
        const answer = { template, method, code: error.code, isGood: retryAfter >= 1 && retryAfter <= 3_600 }
        expect(answer).toEqual({ template, method, code: 'SYSTEM_INTERNAL_ERROR', isGood: true })
      }
    }
    await path.mend()
  })
})

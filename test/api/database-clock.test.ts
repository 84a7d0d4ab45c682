// Times in responses and headers use the database clock (D82), whatever the clock of this process.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { ApiError } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { givenCaller, smallImage } from './given.ts'

const plans = '{"pro":{"monthlyQuota":0,"batchLimit":10},"business":{"requestsPerMinute":1}}'

const refusal = async (asking: Promise<unknown>): Promise<ApiError> => {
  const error = await asking.catch((fault: unknown) => fault)
  if (error instanceof ApiError) return error
  throw error
}

describe('a database clock years ahead, ten minutes before the end of a month', () => {
  let database: TestDatabase
  let api: TestApi
  beforeAll(async () => {
    database = await createTestDatabase()
    await database.setClock('2031-03-31T23:50:00Z')
    api = await startApi({ DATABASE_URL: database.url, PLANS: plans })
  })
  afterAll(async () => {
    await api?.stop()
    await database?.drop()
  })

  it('makes callers with an exhausted quota wait until the end of that month, and no longer', async () => {
    const { client } = await givenCaller(database.db, api)
    const imageUrl = await client.upload(await smallImage())
    const asked = { body: { imageUrls: [imageUrl], modelVersion: 'service-v2' } }
    const creations = [() => client.createTask({ imageUrl }), () => client.call('POST', '/batch-tasks', asked)]
    for (const create of creations) {
      const { code, details, headers } = await refusal(create())
      expect(code).toBe('DEVELOPER_API_QUOTA_EXCEEDED')
      expect(details.resetsAt).toBe('2031-04-01T00:00:00.000Z')
      const seconds = Number(headers.get('retry-after'))
      expect(seconds).toBeGreaterThan(300) // a machine that takes five minutes for this test has other problems
      expect(seconds).toBeLessThanOrEqual(600)
    }
  })

  it('makes callers over their rate limit wait for the next minute of that clock', async () => {
    const { client } = await givenCaller(database.db, api, { plan: 'business' })
    await client.listTasks()
    const { code, details, headers } = await refusal(client.listTasks().then(() => client.listTasks()))
    expect(code).toBe('RATE_LIMIT_EXCEEDED')
    expect(details.resetsAt).toMatch(/^2031-03-31T23:5\d:00\.000Z$/)
    expect(Number(headers.get('x-ratelimit-reset')) * 1_000).toBe(Date.parse(String(details.resetsAt)))
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
  })
})

describe('a database clock two minutes before the end of a month', () => {
  it('counts a late creation in the new month, and keeps all of its tasks', async () => {
    const database = await createTestDatabase()
    await database.setClock('2031-03-31T23:58:00Z')
    const quotaOfThree = '{"enterprise":{"monthlyQuota":3}}'
    const api = await startApi({ DATABASE_URL: database.url, PLANS: quotaOfThree })
    try {
      const { client, workspaceId } = await givenCaller(database.db, api, { plan: 'enterprise' })
      const imageUrl = await client.upload(await smallImage())
      await client.createTask({ imageUrl })
      await client.createTask({ imageUrl })
      // State of the row after another creation that came after midnight and locked the row first.
      await database.db
        .updateTable('workspace')
        .set({ quota_month: '2031-04-01' })
        .where('id', '=', workspaceId)
        .execute()
      await client.createTask({ imageUrl })
      expect(await refusal(client.createTask({ imageUrl }))).toMatchObject({ code: 'DEVELOPER_API_QUOTA_EXCEEDED' })
      const row = database.db
        .selectFrom('workspace')
        .select(['quota_used', 'quota_month'])
        .where('id', '=', workspaceId)
      expect(await row.executeTakeFirst()).toEqual({ quota_used: 3, quota_month: '2031-04-01' })
    } finally {
      await api.stop()
      await database.drop()
    }
  })
})

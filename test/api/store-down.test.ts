import { createServer, type Server } from 'node:http'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { givenCaller } from './given.ts'

const database = useDatabase()
const grant = { fileName: 'a.png', contentType: 'image/png' }
const unavailable = { status: 503, code: 'TASK_STORAGE_UNAVAILABLE' }
let api: TestApi
let port = 0

beforeAll(async () => {
  ;[port = 0] = await freePorts(1)
  api = await startApi({ DATABASE_URL: database.url, S3_ENDPOINT: `http://127.0.0.1:${port}` })
})
afterAll(() => api.stop())

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: { code: string; headers: Headers }) => error,
  )

describe('while the object store is down', () => {
  it('creation answers TASK_STORAGE_UNAVAILABLE with Retry-After and takes nothing', async () => {
    const { client, workspaceId } = await givenCaller(database.db, api)
    const objectKey = 'private-uploads/2026/11/a.png'
    await insertGrant(database.db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
    const error = await refusal(client.createTask({ imageUrl: objectKey }))
    expect(error).toMatchObject(unavailable)
    expect(Number(error?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await client.listTasks()).total).toBe(0)
  })

  it('presign answers TASK_STORAGE_UNAVAILABLE after two misses, and a grant again once the store is back', async () => {
    const { client } = await givenCaller(database.db, api)
    const error = await until('presign refuses', () => refusal(client.presign(grant)))
    expect(error).toMatchObject(unavailable)
    expect(error.headers.get('retry-after')).toBe('5')
    const store = await answering(port)
    try {
      const { method } = await until('presign grants again', () => client.presign(grant).catch(() => undefined))
      expect(method).toBe('PUT')
    } finally {
      store.close()
      store.closeAllConnections()
    }
  })
})

const answering = (at: number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((_incoming, outgoing) => outgoing.writeHead(200).end())
    server.listen(at, '127.0.0.1', () => resolve(server))
  })

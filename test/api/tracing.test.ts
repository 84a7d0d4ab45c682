import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { givenCaller, smallImage } from './given.ts'

type Span = { name: string; traceId: string; parentSpanId?: string; attributes: { key: string; value: object }[] }
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

const database = useDatabase()
const spans: Span[] = []
let collector: Server
let api: TestApi

beforeAll(async () => {
  collector = createServer((incoming, outgoing) => {
    let text = ''
    incoming.on('data', (bytes: Buffer) => {
      text += bytes.toString()
    })
    incoming.on('end', () => {
      const { resourceSpans } = JSON.parse(text) as Export
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  api = await startApi({ DATABASE_URL: database.url, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
})
afterAll(() => {
  collector.close()
  collector.closeAllConnections()
})

describe('a traced request', () => {
  it('continues the caller’s trace and stores it in the task’s row', async () => {
    const { client } = await givenCaller(database.db, api)
    const imageUrl = await client.upload(await smallImage())
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const headers = { traceparent: `00-${traceId}-${spanId}-01`, 'x-request-id': 'traced' }
    const { data } = await client.call<{ id: string }>('POST', '/tasks', { body: { imageUrl }, headers })
    const { traceparent } = await database.db
      .selectFrom('task')
      .select('traceparent')
      .where('id', '=', data.id)
      .executeTakeFirstOrThrow()
    expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    await api.stop() // pending spans are exported at the end
    const span = spans.find(({ name }) => name === 'POST /api/v1/open/developer/tasks')
    expect(span).toMatchObject({ traceId, parentSpanId: spanId })
    expect(traceparent).not.toContain(spanId)
    const attributes = Object.fromEntries(
      (span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
    )
    expect(attributes).toMatchObject({ 'http.response.status_code': 201, 'matte.request_id': 'traced' })
  })
})

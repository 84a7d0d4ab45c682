// The dispatcher as a process that is killed, stopped and continued: at-least-once delivery, exactly one record.
import type { ServerResponse } from 'node:http'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { type DispatcherProcess, spawnDispatcher, untilStarted } from './dispatcher-process.ts'
import { givenDelivery, lapseClaims, readAttempts, readDelivery } from './given.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  await sql`truncate delivery cascade`.execute(database.db)
  await writeSetting(database.db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const givenReceiver = async (...options: Parameters<typeof startReceiver>): Promise<Receiver> => {
  const receiver = await startReceiver(...options)
  ends.push(() => receiver.close())
  return receiver
}

const givenProcess = async (env: Record<string, string> = {}): Promise<DispatcherProcess> => {
  const dispatcher = await spawnDispatcher({ DATABASE_URL: database.url, ...env })
  ends.push(() => {
    dispatcher.kill('SIGCONT')
    dispatcher.kill('SIGKILL')
    return dispatcher.exited
  })
  return dispatcher
}

const untilDelivered = (taskId: string) =>
  until('the task is delivered', async () => (await readDelivery(database.db, taskId)).status === 'delivered')

it('serves health and metrics, delivers without NATS, and exits on SIGTERM', async () => {
  const receiver = await givenReceiver()
  const dispatcher = await givenProcess()
  await untilStarted(dispatcher)
  const { taskId } = await givenDelivery(database.db, receiver.url)
  await untilDelivered(taskId)
  const get = async (path: string) => (await fetch(`${dispatcher.healthUrl}${path}`)).text()
  expect(await get('/healthz')).toBe('{"status":"ok"}')
  expect(await get('/readyz')).toBe('{"ready":true,"checks":{"database":"ok","clock":"ok"}}')
  const metrics = await get('/metrics')
  expect(metrics).toMatch(/matte_delivery_attempts_total\{outcome="delivered".*\} 1/)
  for (const name of ['duration_seconds_count', 'due_age_seconds', 'in_flight'])
    expect(metrics).toContain(`matte_delivery_${name}`)
  dispatcher.kill('SIGTERM')
  expect(await dispatcher.exited).toBe(0)
  expect(dispatcher.errors).toEqual([])
})

it('finishes the attempt in flight on SIGTERM', async () => {
  const answers: ServerResponse[] = []
  const receiver = await givenReceiver((response) => answers.push(response))
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const dispatcher = await givenProcess()
  await until('the request is there', () => answers.length === 1)
  dispatcher.kill('SIGTERM')
  await until('it is stopping', () => dispatcher.lines.some(({ msg }) => msg === 'process stopping'))
  answers[0]?.writeHead(204).end()
  expect(await dispatcher.exited).toBe(0)
  expect(await readDelivery(database.db, taskId)).toMatchObject({ status: 'delivered', attempt: 1 })
})

it('releases an attempt that would outlast its grace period', async () => {
  const receiver = await givenReceiver(() => undefined)
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const dispatcher = await givenProcess({ STOP_WITHIN_MS: '3000', WEBHOOK_TIMEOUT_SECONDS: '60' })
  await until('the request is there', () => receiver.received.length === 1)
  dispatcher.kill('SIGTERM')
  expect(await dispatcher.exited).toBe(0)
  expect(await readDelivery(database.db, taskId)).toMatchObject({ status: 'pending', attempt: 0, claim: null })
})

it('killed during an attempt: another dispatcher repeats it and records it once', async () => {
  const receiver = await givenReceiver((response) => {
    if (receiver.received.length > 1) response.writeHead(204).end()
  })
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const killed = await givenProcess()
  await until('the request is there', () => receiver.received.length === 1)
  killed.kill('SIGKILL')
  await killed.exited
  const other = await givenProcess()
  await lapseClaims(database.db)
  await untilDelivered(taskId)
  expect((await readMetrics(other)).sum('matte_claims_expired_total', { kind: 'delivery' })).toBe(1)
  expect(await readAttempts(database.db, taskId)).toMatchObject([{ attempt: 1, error: null, status_code: 204 }])
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

it('stopped past its claim and continued: no second effect', async () => {
  const answers: ServerResponse[] = []
  const receiver = await givenReceiver((response) => {
    answers.push(response)
    if (answers.length > 1) response.writeHead(204).end()
  })
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const stopped = await givenProcess()
  await until('the request is there', () => answers.length === 1)
  stopped.kill('SIGSTOP')
  await lapseClaims(database.db)
  await givenProcess()
  await untilDelivered(taskId)
  answers[0]?.writeHead(500).end()
  stopped.kill('SIGCONT')
  await until('it sees that its claim is lost', () => stopped.lines.some(({ next }) => next === 'claim lost'))
  const metrics = await readMetrics(stopped)
  expect(metrics.sum('matte_claims_lost_total', { kind: 'delivery' })).toBe(1)
  expect(metrics.sum('matte_deliveries_ended_total')).toBe(0)
  expect(await readDelivery(database.db, taskId)).toMatchObject({ status: 'delivered', attempt: 1 })
  expect(await readAttempts(database.db, taskId)).toMatchObject([{ attempt: 1, status_code: 204 }])
})

it('shares deliveries with another dispatcher and sends nothing twice', async () => {
  const receivers = [await givenReceiver(), await givenReceiver(), await givenReceiver()]
  const tasks: string[] = []
  for (let i = 0; i < 10; i++) {
    const workspace = await givenWorkspace(database.db)
    for (let j = 0; j < 12; j++) {
      tasks.push((await givenDelivery(database.db, receivers[j % 3]?.url ?? '', workspace)).taskId)
    }
  }
  const two = [await givenProcess(), await givenProcess()]
  for (const taskId of tasks) await untilDelivered(taskId)
  const ids = receivers.flatMap(({ received }) => received.map(({ headers }) => headers['webhook-id']))
  expect(ids).toHaveLength(120)
  expect(new Set(ids).size).toBe(120)
  const sentBy = two.map(({ lines }) => lines.filter(({ msg }) => msg === 'delivery attempted').length)
  expect((sentBy[0] ?? 0) + (sentBy[1] ?? 0)).toBe(120)
})

it('joins the trace of the task when an exporter is configured', async () => {
  const exporter = await givenReceiver((response) => response.writeHead(200).end())
  const receiver = await givenReceiver()
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await sql`update delivery set traceparent = ${traceparent}`.execute(database.db)
  const dispatcher = await givenProcess({ OTEL_EXPORTER_OTLP_ENDPOINT: exporter.url })
  await untilDelivered(taskId)
  expect(receiver.received[0]?.headers.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)/)
  dispatcher.kill('SIGTERM')
  await dispatcher.exited
  expect(exporter.received.map(({ path }) => path)).toContain('/v1/traces')
})

it('reports all configuration errors at once and shows no secret', async () => {
  const dispatcher = await spawnDispatcher({
    MASTER_KEYS: 'short:c2VjcmV0',
    WEBHOOK_DENIED_NETWORKS: '10.0.0.0/33',
    WEBHOOK_TIMEOUT_SECONDS: '0',
  })
  expect(await dispatcher.exited).toBe(2)
  const message = dispatcher.errors.join('\n')
  for (const name of ['DATABASE_URL', 'MASTER_KEYS', 'WEBHOOK_DENIED_NETWORKS', 'WEBHOOK_TIMEOUT_SECONDS']) {
    expect(message).toContain(name)
  }
  expect(message).not.toContain('c2VjcmV0')
})

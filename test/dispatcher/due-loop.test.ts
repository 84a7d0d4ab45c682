// Dispatchers in this process with real receivers and a real database: requests, their times, and their records.
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { deliver } from '@matte/dispatcher/deliver'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { verifySignature } from '../support/verify-signature.ts'
import { claimOne, givenDelivery, makeDue, readAttempts, readDelivery } from './given.ts'
import { createDispatcher, type Dispatcher, type DispatcherOptions, masterKeys } from './in-process.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  await sql`truncate delivery cascade`.execute(database.db)
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const givenReceiver = async (...options: Parameters<typeof startReceiver>): Promise<Receiver> => {
  const receiver = await startReceiver(...options)
  ends.push(() => receiver.close())
  return receiver
}

const dispatch = async (options: DispatcherOptions = {}): Promise<Dispatcher> => {
  const dispatcher = createDispatcher(options.db ?? database.db, options)
  ends.push(() => dispatcher.stop())
  await dispatcher.due.start()
  return dispatcher
}

const untilStatus = (taskId: string, status: string) =>
  until(`the delivery is ${status}`, async () => {
    const delivery = await readDelivery(database.db, taskId)
    return delivery.status === status && delivery
  })

/** `task.succeeded` deliveries by outcome. */
const endedOf = async (metrics: Dispatcher['metrics']): Promise<Record<string, number>> => {
  const sample = /^matte_deliveries_ended_total{event="task\.succeeded",outcome="(\w+)",.*} (\d+)$/gm
  return Object.fromEntries(
    [...(await metrics()).matchAll(sample)].map(([, outcome, count]) => [outcome, Number(count)]),
  )
}

it('sends the stored bytes, signed with the secret of the workspace in both schemes', async () => {
  const receiver = await givenReceiver()
  const { workspaceId, taskId } = await givenDelivery(database.db, `${receiver.url}/hook?x=1`)
  await dispatch()
  const { id, body } = await untilStatus(taskId, 'delivered')
  const [request, ...others] = receiver.received
  expect(others).toEqual([])
  expect(request).toMatchObject({ path: '/hook?x=1', body, headers: { 'content-type': 'application/json' } })
  expect(JSON.parse(body)).toEqual({ event: 'task.succeeded', task_id: taskId, message: 'The cut-out is ready.' })

  const secret = await getCallbackSecret(database.db, masterKeys, workspaceId)
  const headers = request?.headers ?? {}
  const nowSeconds = Date.now() / 1_000
  expect(verifySignature(String(headers['x-service-signature']), body, secret, { nowSeconds })).toBe(true)
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${id}.${headers['webhook-timestamp']}.${body}`
  expect(headers).toMatchObject({
    'webhook-id': id,
    'webhook-signature': `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
  })
})

it('retries when due, signed again under the same id, and stops at the first success', async () => {
  const receiver = await givenReceiver((response) => response.writeHead(receiver.received.length < 5 ? 500 : 204).end())
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const { lines, metrics } = await dispatch({ retry: { maxRetries: 12, retryUnitMs: 20 } })
  await untilStatus(taskId, 'delivered')
  const attempts = await readAttempts(database.db, taskId)
  expect(attempts.map(({ attempt, status_code, error }) => [attempt, status_code, error])).toEqual([
    ...[1, 2, 3, 4].map((n) => [n, 500, 'STATUS']),
    [5, 204, null],
  ])
  attempts.slice(1).forEach((attempt, i) => {
    const begunAtMs = attempt.at.getTime() - attempt.duration_ms
    const dueAtMs = (attempts[i]?.at.getTime() ?? 0) + 20 * 2 ** (i + 1)
    expect(begunAtMs - dueAtMs).toBeGreaterThanOrEqual(-2) // both are rounded to milliseconds
    expect(begunAtMs - dueAtMs).toBeLessThan(5_000) // D64: within 5 s
  })
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(lines.filter(({ msg }) => msg === 'delivery attempted')).toMatchObject([
    ...[1, 2, 3, 4].map((attempt) => ({ attempt, outcome: 'STATUS', next: 'retry', retry_in_ms: 20 * 2 ** attempt })),
    { attempt: 5, task_id: taskId, outcome: 'delivered', status_code: 204, next: 'delivered' },
  ])
  expect(await endedOf(metrics)).toEqual({ delivered: 1, exhausted: 0, canceled: 0 })
})

it('gives up after the thirteenth failure', async () => {
  const receiver = await givenReceiver((response) => response.writeHead(503).end())
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const { due, metrics } = await dispatch()
  await until('the delivery is exhausted', async () => {
    due.wake() // otherwise each retry, due in milliseconds here, waits for the next poll
    return (await readDelivery(database.db, taskId)).status === 'exhausted'
  })
  expect(receiver.received).toHaveLength(13)
  expect(await readAttempts(database.db, taskId)).toHaveLength(13)
  expect(await metrics()).toMatch(/matte_delivery_attempts_total{outcome="STATUS".*} 13/)
  await until('its end is counted', async () => (await endedOf(metrics)).exhausted === 1)
  expect(await endedOf(metrics)).toEqual({ delivered: 0, exhausted: 1, canceled: 0 })
})

it('records a forbidden target as refused and never connects to it', async () => {
  const receiver = await givenReceiver()
  const { taskId } = await givenDelivery(database.db, receiver.url)
  await dispatch({ allowedTargets: () => [], retry: { maxRetries: 0, retryUnitMs: 1 } })
  await untilStatus(taskId, 'exhausted')
  expect(receiver.connections.size).toBe(0)
  expect(await readAttempts(database.db, taskId)).toMatchObject([
    { error: 'TARGET_REFUSED', status_code: null, response_body: null },
  ])
})

it('does not delay other receivers behind a hanging one, which gets at most four at a time', async () => {
  const hanging = await givenReceiver(() => undefined)
  const quick = await givenReceiver()
  const one = await givenWorkspace(database.db)
  const stuck = []
  for (let i = 0; i < 10; i++) stuck.push(await givenDelivery(database.db, hanging.url, one))
  const dispatcher = await dispatch({ finishWithinMs: 0 })
  await until('four hang', () => hanging.received.length === 4)
  const others = [await givenDelivery(database.db, quick.url, one)]
  for (let i = 0; i < 20; i++) others.push(await givenDelivery(database.db, quick.url))
  dispatcher.due.wake()
  for (const { taskId } of others) await untilStatus(taskId, 'delivered')
  expect(hanging.received).toHaveLength(4)

  await dispatcher.stop()
  for (const { taskId } of stuck) {
    expect(await readDelivery(database.db, taskId)).toMatchObject({ status: 'pending', attempt: 0, claim: null })
    expect(await readAttempts(database.db, taskId)).toEqual([])
  }
})

it('finishes attempts in flight during stop and begins no other', async () => {
  const answers: ServerResponse[] = []
  const receiver = await givenReceiver((response) => answers.push(response))
  const first = await givenDelivery(database.db, receiver.url)
  const dispatcher = await dispatch()
  await until('the request is there', () => answers.length === 1)
  const stopped = dispatcher.due.stop()
  const second = await givenDelivery(database.db, receiver.url)
  dispatcher.due.wake()
  answers[0]?.writeHead(200).end()
  await stopped
  expect(await readDelivery(database.db, first.taskId)).toMatchObject({ status: 'delivered', attempt: 1 })
  expect(await readDelivery(database.db, second.taskId)).toMatchObject({ status: 'pending', attempt: 0, claim: null })
})

it('records a response that arrived during a database outage, and sends nothing twice', async () => {
  const own = connectTo(database.url)
  ends.push(async () => own.stop())
  const receiver = await givenReceiver((response) => {
    // Every connection of the dispatcher breaks while its attempt is in flight.
    sql`select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and application_name = 'dispatcher-test'`
      .execute(database.db)
      .then(() => response.writeHead(204).end())
  })
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const url = new URL(database.url)
  url.searchParams.set('application_name', 'dispatcher-test')
  const broken = connectTo(url.href, 2)
  ends.push(async () => broken.stop())
  await dispatch({ db: broken.db })
  await untilStatus(taskId, 'delivered')
  expect(receiver.received).toHaveLength(1)
  expect(await readAttempts(database.db, taskId)).toHaveLength(1)
})

it('counts failed rounds of claims and continues when the database is back', async () => {
  const receiver = await givenReceiver()
  const { taskId } = await givenDelivery(database.db, receiver.url)
  await sql`alter table delivery rename to away`.execute(database.db)
  ends.push(async () => void (await sql`alter table if exists away rename to delivery`.execute(database.db)))
  const { metrics } = await dispatch()
  const failures = async () =>
    Number(/^matte_claim_failures_total{kind="delivery",.*} (\d+)$/m.exec(await metrics())?.[1])
  await until('two rounds have failed', async () => (await failures()) >= 2)
  await sql`alter table away rename to delivery`.execute(database.db)
  await untilStatus(taskId, 'delivered')
})

it('sends nothing under a claim that may have lapsed, as after SIGSTOP and SIGCONT', async () => {
  const receiver = await givenReceiver()
  const { taskId } = await givenDelivery(database.db, receiver.url)
  const { deps } = createDispatcher(database.db)
  ends.push(() => deps.http.close())
  const claimedAtMs = performance.now() - 60_000
  const times = { claimedAtMs, beginBeforeMs: claimedAtMs + 7_500, claimEndsAtMs: claimedAtMs + 45_000 }
  await deliver(deps, { delivery: await claimOne(database.db), ...times }, new AbortController().signal)
  expect(receiver.connections.size).toBe(0)
  expect(await readAttempts(database.db, taskId)).toEqual([])
})

it('fails the attempt when the secret cannot be decrypted, and delivers once its master key is back', async () => {
  const receiver = await givenReceiver()
  const { workspaceId, taskId } = await givenDelivery(database.db, receiver.url)
  const gone = new Map([['gone', Buffer.alloc(32, 1)]])
  await getCallbackSecret(database.db, gone, workspaceId)
  const retry = { maxRetries: 12, retryUnitMs: 3_600_000 }
  const without = await dispatch({ retry })
  const [attempt] = await until('the attempt is recorded', async () => {
    const attempts = await readAttempts(database.db, taskId)
    return attempts.length > 0 && attempts
  })
  expect(attempt).toMatchObject({ attempt: 1, error: 'SECRET_UNREADABLE', status_code: null, response_body: null })
  expect(await readDelivery(database.db, taskId)).toMatchObject({ status: 'pending', attempt: 1, claim: null })
  const logged = await until('the failure is logged', () =>
    without.lines.find(({ msg }) => msg === 'delivery attempted'),
  )
  expect(logged).toMatchObject({ level: 50, outcome: 'SECRET_UNREADABLE', next: 'retry', retry_in_ms: 7_200_000 })
  expect(JSON.stringify(logged)).toContain('master key gone is not configured: add it to MASTER_KEYS')
  expect(receiver.received).toEqual([])
  await without.stop()
  await makeDue(database.db)
  await dispatch({ retry, masterKeys: gone })
  await untilStatus(taskId, 'delivered')
  expect(receiver.received).toHaveLength(1)
})

it('leaves no claim behind when it starts and stops at random moments', async () => {
  const receiver = await givenReceiver()
  const tasks = []
  for (let i = 0; i < 30; i++) tasks.push(await givenDelivery(database.db, receiver.url))
  for (let i = 0; i < 15; i++) {
    const dispatcher = createDispatcher(database.db, { slots: 4, finishWithinMs: i % 2 === 0 ? 0 : 30_000 })
    await dispatcher.due.start()
    if (i % 3 === 0) await new Promise(setImmediate)
    await dispatcher.stop()
    await dispatcher.due.stop()
    const claimed = await database.db.selectFrom('delivery').select('id').where('claim', 'is not', null).execute()
    expect(claimed).toEqual([])
  }
  await dispatch()
  for (const { taskId } of tasks) await untilStatus(taskId, 'delivered')
})

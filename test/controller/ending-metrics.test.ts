// Every end of a task is counted once, with the time since its acceptance by the database clock. Each test checks what
// it adds to the process's metrics.
import { setFaultAttempts } from '@matte/core/task/run/fault-injection'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { type Metrics, readMetrics } from '../e2e/support/metrics.ts'
import { createClient } from '../support/client.ts'
import { givenClaimed, givenTask, givenWorkspace, ownModel, readTask } from '../support/factories.ts'
import { photo } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const hourMs = 3_600_000

describe('the metrics of the ends of tasks', () => {
  const stack = useStack({ processes: ['api', 'worker'] })
  const controller = () => stack.process('worker')
  const read = (): Promise<Metrics> => readMetrics(controller())

  /** Increase of a counter, once it has increased: the response may precede the count. */
  async function grown(before: Metrics, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const since = async () => (await read()).sum(name, labels) - before.sum(name, labels)
    return await until(`${name} grows`, async () => (await since()) || undefined)
  }
  const completion = 'matte_task_completion_seconds'
  const untilEnded = (id: string) =>
    until('the task has ended', async () => (await readTask(stack.db, id)).completed_at !== null)

  it('are 0 before any task ends', async () => {
    const metrics = await read()
    for (const plan of ['free', 'pro', 'business', 'enterprise', 'internal']) {
      for (const status of ['succeeded', 'failed', 'canceled']) {
        expect(metrics.samples(`${completion}_count`, { plan, status })).toMatchObject([{ value: 0 }])
      }
      expect(metrics.samples('matte_credits_settled_total', { plan })).toMatchObject([{ value: 0 }, { value: 0 }])
    }
    for (const what of ['claims_expired', 'claim_failures', 'claims_lost']) {
      expect(metrics.samples(`matte_${what}_total`, { kind: 'task' })).toMatchObject([{ value: 0 }])
    }
  })

  it('count a success for its plan, with the time between its timestamps', async () => {
    const before = await read()
    const { createdAt, completedAt } = await cutOut(stack.client)
    const of = { plan: 'internal', status: 'succeeded' }
    expect(await grown(before, `${completion}_count`, of)).toBe(1)
    const seconds = (Date.parse(completedAt ?? '') - Date.parse(createdAt)) / 1_000
    expect(await grown(before, `${completion}_sum`, of)).toBeCloseTo(seconds, 2)
  })

  it('count the credit of a success as charged, and of a failure as released', async () => {
    const { id: workspaceId } = await givenWorkspace(stack.db, { plan: 'pro', credits: 10 })
    const key = generateApiKey()
    await insertApiKey(stack.db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
    const client = createClient(stack.process('api').url, key.key)
    const before = await read()
    const credits = 'matte_credits_settled_total'
    await cutOut(client)
    expect(await grown(before, credits, { plan: 'pro', outcome: 'charged' })).toBe(1)
    const { id } = await submit(client, { bytes: photo('rocket.jpg').subarray(0, 40_000) })
    await untilStatus(client, id, 'failed')
    expect(await grown(before, credits, { plan: 'pro', outcome: 'released' })).toBe(1)
    expect(await grown(before, `${completion}_count`, { plan: 'pro', status: 'failed' })).toBe(1)
    expect(await grown(before, 'matte_task_failures_total', { code: 'INPUT_UNREADABLE' })).toBe(1)
  })

  it('count a failed last attempt, and the claim taken over for it', async () => {
    const { db } = stack
    const task = await givenClaimed(db, await givenWorkspace(db), { model: 'service-v2' })
    await setFaultAttempts(db, task.id, 1)
    const before = await read()
    await sql`update task set attempt = 4, due_at = now(), claimed_until = now() where id = ${task.id}`.execute(db)
    await untilEnded(task.id)
    expect(await grown(before, 'matte_task_failures_total')).toBe(1)
    expect(await grown(before, 'matte_task_failures_total', { code: 'INFERENCE_ERROR' })).toBe(1)
    expect(await grown(before, `${completion}_count`, { status: 'failed' })).toBe(1)
    expect(await grown(before, 'matte_claims_expired_total')).toBe(1)
  })

  it('count a run whose worker died in the last attempt, and its expired claim', async () => {
    const { db } = stack
    const task = await givenClaimed(db, await givenWorkspace(db))
    const before = await read()
    await sql`update task set attempt = 5, claimed_until = now() where id = ${task.id}`.execute(db)
    await untilEnded(task.id)
    expect(await grown(before, 'matte_task_failures_total', { code: 'INTERNAL' })).toBe(1)
    expect(await grown(before, `${completion}_count`, { plan: 'internal', status: 'failed' })).toBe(1)
    expect(await grown(before, 'matte_claims_expired_total', { kind: 'task' })).toBe(1)
  })

  it('count a task that was queued too long, by its age', async () => {
    const { db } = stack
    const before = await read()
    const task = await givenTask(db, await givenWorkspace(db), { model: ownModel(), ageMs: 25 * hourMs })
    await untilEnded(task.id)
    expect(await grown(before, 'matte_task_failures_total', { code: 'INFERENCE_TIMEOUT' })).toBe(1)
    expect(await grown(before, `${completion}_sum`, { status: 'failed' })).toBeGreaterThanOrEqual(25 * 3_600)
    const after = await read()
    const longest = { status: 'failed', le: '21600' }
    expect(after.sum(`${completion}_bucket`, longest) - before.sum(`${completion}_bucket`, longest)).toBe(0)
  })

  describe('while the task table is missing', () => {
    afterEach(() => sql`alter table if exists away rename to task`.execute(stack.db))

    it('count each failed round of claims', async () => {
      const before = await read()
      await sql`alter table task rename to away`.execute(stack.db)
      expect(await grown(before, 'matte_claim_failures_total', { kind: 'task' })).toBeGreaterThanOrEqual(1)
    })
  })
})

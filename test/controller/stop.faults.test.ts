// SIGTERM: tasks in flight finish or are given back, and the process exits in time.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { givenTask, givenWorkspace, ownModel, readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import type { TestProcess } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

describe('after SIGTERM', () => {
  const stack = useStack({ own: ['triton', 'store'] })
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  async function givenInFlight() {
    await cutOut(stack.client)
    await stack.server('triton').kill('SIGSTOP')
    const task = await submit(stack.client)
    await untilStatus(stack.client, task.id, 'processing')
    return task
  }

  /** The process reported a clean stop and has exited. */
  async function expectCleanEnd(ended: TestProcess): Promise<void> {
    await ended.untilEnded()
    const messages = ended.log().map(({ msg }) => msg)
    expect(messages.at(-1)).toBe('process stopped')
    expect(messages).not.toContain('process did not stop in time')
  }

  it('a controller finishes tasks in flight and claims no new ones', async () => {
    const task = await givenInFlight()
    const controller = stack.process('worker')
    await controller.kill('SIGTERM')
    await controller.untilLogged('process stopping')
    await stack.server('triton').kill('SIGCONT')
    await expectCleanEnd(controller)
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readHistory(stack.db, task.id)).toEqual(['queued', 'processing', 'succeeded'])
    const next = await submit(stack.client)
    expect(await stack.client.getTask(next.id)).toMatchObject({ status: 'queued' })
    await stack.start('worker')
    await untilStatus(stack.client, next.id, 'succeeded')
  })

  it('a controller gives back unfinished tasks in time, without costing an attempt', async () => {
    await stack.process('worker').stop()
    const controller = await stack.start('worker', { STOP_WITHIN_MS: '4000' })
    const task = await givenInFlight()
    await controller.kill('SIGTERM')
    try {
      await expectCleanEnd(controller)
    } finally {
      await stack.server('triton').kill('SIGCONT') // needed by later tests
    }
    expect(controller.log()).toContainEqual(expect.objectContaining({ msg: 'task given back', task_id: task.id }))
    expect(await attemptsOf(stack.db, task.id)).toBe(0)
    await stack.start('worker')
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readHistory(stack.db, task.id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('a controller claims nothing more, even if a sweep takes long to end', async () => {
    const { client, db } = stack
    const controller = stack.process('worker')
    const stuck = await givenTask(db, await givenWorkspace(db), { model: ownModel() })
    await db.transaction().execute(async (tx) => {
      await sql`select from workspace where id = ${stuck.workspace_id} for update`.execute(tx)
      await sql`update task set queued_at = now() - interval '2 days' where id = ${stuck.id}`.execute(db)
      const waiting = sql<{ ms: number }>`
        select extract(epoch from clock_timestamp() - state_change) * 1000 as ms from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and application_name = 'matte-worker'`
      const waitedMs = async () => Number((await waiting.execute(db)).rows[0]?.ms ?? 0)
      await until('the sweep waits for the workspace', async () => (await waitedMs()) > 0)
      await controller.kill('SIGTERM')
      await controller.untilLogged('process stopping')
      const since = await waitedMs()
      const next = await submit(client)
      // The timer claims four times a second.
      await until('a claim would have come', async () => (await waitedMs()) > since + 2_000)
      expect(await client.getTask(next.id)).toMatchObject({ status: 'queued' })
    })
    await expectCleanEnd(controller)
    await stack.start('worker')
  })

  it('a controller stops in time while its sweep waits for a hanging store', async () => {
    await stack.process('worker').stop()
    const controller = await stack.start('worker', { STOP_WITHIN_MS: '4000', RETENTION_EVERY_MS: '250' })
    const store = stack.server('store')
    await store.kill('SIGSTOP')
    try {
      const line = { object_key: 'private-uploads/2026/01/given-up.png', due_at: new Date(0) }
      await stack.db.insertInto('object_deletion').values(line).execute()
      await until('the sweep has begun on it', async () => {
        const taken = sql`select from object_deletion where due_at > now()`
        return (await taken.execute(stack.db)).rows.length > 0
      })
      await controller.kill('SIGTERM')
      await expectCleanEnd(controller)
    } finally {
      await store.kill('SIGCONT')
    }
    await stack.start('worker')
  })

  it.each(['api', 'dispatcher'] as const)('the %s stops cleanly, and its successor continues', async (name) => {
    const ended = stack.process(name)
    await ended.kill('SIGTERM')
    await expectCleanEnd(ended)
    await stack.start(name)
    await cutOut(stack.client, { callbackUrl: receiver.url })
    await receiver.until(1)
  })
})

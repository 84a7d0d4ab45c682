// A controller that is killed, or paused beyond its claim, with a task in flight. Triton is paused meanwhile, so the
// task stays in flight.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import type { Task } from '../support/client.ts'
import { readHistory, readTask } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, eventsOf, expectOneEffect, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

describe('a controller', () => {
  const stack = useStack({ own: ['triton'] })
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  async function givenInFlight() {
    await stack.server('triton').kill('SIGSTOP')
    const task = await submit(stack.client, { callbackUrl: receiver.url })
    await untilStatus(stack.client, task.id, 'processing')
    return task
  }
  const resultsOf = async (id: string): Promise<string[]> =>
    (await stack.bucket.keys('results/')).filter((key) => key.includes(`/${id}/`))

  /** The end of a run needs the workspace's row: while it is locked, a worker waits with its result stored. */
  async function whileWorkspaceIsLocked(act: (task: Task) => Promise<void>): Promise<Task> {
    const task = await givenInFlight()
    await stack.db.transaction().execute(async (tx) => {
      await sql`select 1 from workspace where id = ${stack.workspaceId} for update`.execute(tx)
      await stack.server('triton').kill('SIGCONT')
      await act(task)
    })
    return task
  }
  const effects = () => ({ client: stack.client, bucket: stack.bucket, receiver })

  it('killed while a task is processing: another finishes it in the same run, with one result and one webhook', async () => {
    const task = await givenInFlight()
    await stack.process('worker').kill('SIGKILL')
    await stack.start('worker')
    await stack.server('triton').kill('SIGCONT')
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readTask(stack.db, task.id)).toMatchObject({ run: 1, attempt: 2 })
    expect(await readHistory(stack.db, task.id)).toEqual(['queued', 'processing', 'succeeded'])
    await expectOneEffect(effects(), task.id)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  const waiting = sql`from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const isRecording = async () => (await sql`select ${waiting}`.execute(stack.db)).rows.length > 0

  it('killed between storing a result and recording it: the next result is the one that counts', async () => {
    const { id } = await whileWorkspaceIsLocked(async () => {
      await until('the result is about to be recorded', isRecording)
      await stack.process('worker').kill('SIGKILL')
      // PostgreSQL notices a dead client only when it responds; without this it would record the end of the run.
      await sql`select pg_terminate_backend(pid) ${waiting}`.execute(stack.db)
    })
    const [orphan] = await resultsOf(id)
    await stack.start('worker')
    const { resultUrl } = await untilStatus(stack.client, id, 'succeeded')
    expect(resultUrl).not.toContain(orphan)
    expect(await resultsOf(id)).toHaveLength(2)
    expect(await readTask(stack.db, id)).toMatchObject({ run: 1, attempt: 2 })
    const later = await cutOut(stack.client, { callbackUrl: receiver.url })
    await until('the webhook of a later task arrives', () => eventsOf(receiver, later.id).length > 0)
    expect(eventsOf(receiver, id)).toEqual(['task.succeeded'])
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('killed while its result is recorded: the result counts once, although the nudge is lost', async () => {
    const task = await whileWorkspaceIsLocked(async () => {
      await until('the result is about to be recorded', isRecording)
      await stack.process('worker').kill('SIGKILL')
    })
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readTask(stack.db, task.id)).toMatchObject({ run: 1, attempt: 1 })
    await stack.start('worker')
    await expectOneEffect(effects(), task.id)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('suspended past its claim and resumed: its late writes have no effect, and it continues to work', async () => {
    const first = stack.process('worker')
    const task = await givenInFlight()
    await first.kill('SIGSTOP')
    const second = await stack.start('worker')
    await stack.server('triton').kill('SIGCONT')
    const { resultUrl } = await untilStatus(stack.client, task.id, 'succeeded')
    await first.kill('SIGCONT')
    await until('the first finds its claim gone', () =>
      first.log().some(({ msg, task_id }) => msg.startsWith('claim was lost') && task_id === task.id),
    )
    expect((await readMetrics(first)).sum('matte_claims_lost_total', { kind: 'task' })).toBe(1)
    expect((await readMetrics(second)).sum('matte_claims_expired_total', { kind: 'task' })).toBe(1)
    await second.stop()
    await expectOneEffect(effects(), task.id)
    const after = await stack.client.getTask(task.id)
    expect(new URL(after.resultUrl ?? '').pathname).toBe(new URL(resultUrl ?? '').pathname)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})

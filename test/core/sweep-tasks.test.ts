// Runs that no worker will end: they waited too long, or their worker died at the last attempt.
import { handOverDeadLetters } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import {
  givenClaimed,
  givenTask,
  givenWorkspace,
  lapseClaim,
  ownModel,
  readHistory,
  readTask,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

const hourMs = 3_600_000
const callbackUrl = 'http://receiver.example/'

describe('sweepTasks', () => {
  const database = useDatabase()

  it('fails a task that waited too long, and releases its credit', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 2 })
    const old = await givenTask(db, workspace, { model: ownModel(), ageMs: hourMs, callbackUrl })
    const young = await givenTask(db, workspace, { model: ownModel() })
    expect(await sweepTasks(db, { maxQueueAgeMs: hourMs / 2 })).toBe(1)
    expect(await readTask(db, old.id)).toMatchObject({ status: 'failed', failure_reason: 'INFERENCE_TIMEOUT' })
    expect(await readHistory(db, old.id)).toEqual(['queued', 'failed'])
    expect(await readTask(db, young.id)).toMatchObject({ status: 'queued' })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('fails a task that was released again and again for too long', async () => {
    const { db } = database
    const task = await givenClaimed(db, await givenWorkspace(db), { ageMs: hourMs })
    await lapseClaim(db, task)
    expect(await sweepTasks(db, { maxQueueAgeMs: hourMs / 2 })).toBe(1)
    expect(await readTask(db, task.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'INFERENCE_TIMEOUT',
      dead_letter: 'due',
    })
  })

  it('keeps a task while a worker has it, however old', async () => {
    const { db } = database
    const task = await givenClaimed(db, await givenWorkspace(db), { ageMs: 100 * hourMs })
    expect(await sweepTasks(db, { maxQueueAgeMs: hourMs })).toBe(0)
    expect(await readTask(db, task.id)).toMatchObject({ status: 'processing', claim: task.claim })
  })

  it('fails a task whose worker died at the fifth attempt', async () => {
    const { db } = database
    const task = await givenClaimed(db, await givenWorkspace(db), { callbackUrl })
    await sql`update task set attempt = 5 where id = ${task.id}`.execute(db)
    expect(await sweepTasks(db, { maxQueueAgeMs: hourMs })).toBe(0)
    await lapseClaim(db, task)
    expect(await sweepTasks(db, { maxQueueAgeMs: hourMs })).toBe(1)
    expect(await readTask(db, task.id)).toMatchObject({ status: 'failed', failure_reason: 'INTERNAL' })
    expect(await readHistory(db, task.id)).toEqual(['queued', 'processing', 'failed', 'dead_letter'])
  })

  it('uses another time if an operator gives one', async () => {
    const { db } = database
    const task = await givenTask(db, await givenWorkspace(db), { model: ownModel() })
    const now = new Date(Date.now() + 48 * hourMs)
    expect(await sweepTasks(db, { maxQueueAgeMs: 24 * hourMs, now })).toBeGreaterThanOrEqual(1)
    expect(await readTask(db, task.id)).toMatchObject({ status: 'failed' })
  })

  it('does each once when all replicas sweep at the same moment', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    for (let index = 0; index < 10; index++) {
      await givenTask(db, workspace, { model: ownModel(), ageMs: 10 * hourMs, callbackUrl })
    }
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 3))
    const ended = await Promise.all(replicas.map((replica) => sweepTasks(replica.db, { maxQueueAgeMs: hourMs })))
    await Promise.all(replicas.map((replica) => replica.stop()))
    expect(ended.reduce((sum, count) => sum + count)).toBe(10)
    expect(await findBrokenRules(db)).toEqual({})
  })
})

describe('the hand-over to the dead-letter stream', () => {
  const database = useDatabase()

  async function givenDeadLetter() {
    const { db } = database
    const task = await givenClaimed(db, await givenWorkspace(db))
    await sql`update task set attempt = 5, claimed_until = now() where id = ${task.id}`.execute(db)
    await sweepTasks(db, { maxQueueAgeMs: hourMs })
    return task
  }

  it('sends each letter once and records it in the history', async () => {
    const { db } = database
    const task = await givenDeadLetter()
    const sent: string[] = []
    const publish = async (_: unknown, id: string): Promise<void> => void sent.push(id)
    expect(await handOverDeadLetters(db, publish)).toBe(1)
    expect(await handOverDeadLetters(db, publish)).toBe(0)
    expect(sent).toEqual([`${task.id}:1`])
    expect((await readHistory(db, task.id)).slice(-2)).toEqual(['dead_letter', 'dead_lettered'])
  })

  it('retries with the same id when the stream did not take it', async () => {
    const { db } = database
    const task = await givenDeadLetter()
    await expect(handOverDeadLetters(db, () => Promise.reject(new Error('no stream')))).rejects.toThrow('no stream')
    expect(await readTask(db, task.id)).toMatchObject({ dead_letter: 'due' })
    const sent: string[] = []
    await handOverDeadLetters(db, async (_, id) => void sent.push(id))
    expect(sent).toEqual([`${task.id}:1`])
  })

  it('marks nothing when the task has another run by then', async () => {
    const { db } = database
    const task = await givenDeadLetter()
    const retried = sql`
        update task set run = 2, status = 'queued', completed_at = null, failure_reason = null, failure_message = null,
               started_at = null, dead_letter = null, attempt = 0 where id = ${task.id}`
    expect(await handOverDeadLetters(db, async () => void (await retried.execute(db)))).toBe(0)
    expect(await readHistory(db, task.id)).not.toContain('dead_lettered')
  })
})

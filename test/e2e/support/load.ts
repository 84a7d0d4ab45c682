// Callers of the service: tasks at a steady rate, from one uploaded photo, and what became of each of them.
import type { Db } from '@matte/core/db/database'
import { parseResultKey } from '@matte/core/storage/result-key'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { ApiError } from '../../support/client.ts'
import { findBrokenRules } from '../../support/invariants.ts'
import { greyPng } from '../../support/photos.ts'
import type { Receiver } from '../../support/receiver.ts'
import type { Stack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'

export type Load = {
  /** Ids of the accepted tasks. */
  readonly ids: readonly string[]
  /** Changes the rate, tasks a second; 0 pauses. */
  rate(perSecond: number): void
  /** No more tasks; returns when those being sent are accepted. */
  stop(): Promise<void>
}

export type LoadOptions = {
  readonly stack: Stack
  /** Gets a webhook of each task. */
  readonly receiver?: Receiver
  readonly bytes?: Uint8Array
}

/** Far below what a workspace may have open, so that a machine that is too slow for the rate delays callers only. */
const openMax = 300

/** Tasks at a constant arrival rate, whether or not those before are done, as long as not too many are open. */
export async function startLoad(options: LoadOptions): Promise<Load> {
  const { stack, receiver, bytes = greyPng(64, 64) } = options
  const { client } = stack
  const imageUrl = await client.upload(bytes)
  const ids: string[] = []
  const open = new Set<Promise<void>>()
  const failures: unknown[] = []
  let timer: NodeJS.Timeout | undefined
  const task = { imageUrl, ...(receiver && { callbackUrl: receiver.url }) }
  const create = (): void => {
    if (ids.length + open.size - (receiver?.received.length ?? ids.length) > openMax) return
    const one = client
      .createTask(task)
      .then(
        ({ id }) => void ids.push(id),
        (error: unknown) => {
          // The API may refuse a task as too much; what it refuses it has not accepted.
          if (!(error instanceof ApiError) || error.status !== 429) failures.push(error)
        },
      )
      .finally(() => open.delete(one))
    open.add(one)
  }
  const rate = (perSecond: number): void => {
    clearInterval(timer)
    timer = perSecond > 0 ? setInterval(create, 1_000 / perSecond) : undefined
  }
  return {
    ids,
    rate,
    stop: async () => {
      rate(0)
      await Promise.all(open)
      expect(failures).toEqual([])
    },
  }
}

export const countSucceeded = async (db: Db): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from task where status = 'succeeded'`.execute(db)
  return rows[0]?.count ?? 0
}

export async function untilNoneOpen(db: Db): Promise<void> {
  await until(
    'every task has ended',
    async () => {
      const { rows } = await sql<{ open: number }>`
        select count(*)::int as open from task where status in ('queued', 'processing')`.execute(db)
      return rows[0]?.open === 0
    },
    { timeoutMs: 300_000, everyMs: 250 },
  )
}

export type Fate = {
  readonly stack: Stack
  /** Asserts one webhook for each task. */
  readonly receiver?: Receiver
  /**
   * `one`: nothing may have cost an attempt. `more`: a controller was killed, which costs its tasks one each, and may
   * leave a result in the store that no task refers to.
   */
  readonly attempts?: 'one' | 'more'
}

export type Outcome = {
  readonly tasks: number
  /** Tasks that took more than one attempt. */
  readonly repeated: number
}

/**
 * Nothing lost, nothing done twice in effect, nothing failed: every task that was ever accepted has succeeded in its
 * first run, with one result in the store and, where asked for, one webhook; and all counters agree.
 */
export async function expectNothingLost({ stack, receiver, attempts = 'one' }: Fate, load: Load): Promise<Outcome> {
  const { db, bucket } = stack
  await untilNoneOpen(db)
  const rows = await db.selectFrom('task').select(['id', 'status', 'attempt', 'run', 'result_key']).execute()
  const known = new Map(rows.map((row) => [row.id, row]))
  expect(load.ids.filter((id) => !known.has(id))).toEqual([])
  expect(rows.filter(({ status, run }) => status !== 'succeeded' || run !== 1)).toEqual([])
  const repeated = rows.filter(({ attempt }) => attempt !== 1)
  if (attempts === 'one') expect(repeated).toEqual([])
  expect(await findBrokenRules(db)).toEqual({})
  // A worker that lost its claim may still be removing what it had stored.
  await until('the results are those of the tasks', async () => {
    const stored = new Set(await bucket.keys('results/'))
    const referred = new Set(rows.map(({ result_key }) => result_key ?? ''))
    const spare = [...stored].filter((key) => !referred.has(key))
    const worked = new Set(repeated.map(({ id }) => id))
    const isExplained = spare.every((key) => worked.has(parseResultKey(key)?.taskId ?? ''))
    return stored.size - spare.length === rows.length && isExplained
  })
  if (receiver) await expectOneWebhookEach(db, receiver, load.ids)
  return { tasks: rows.length, repeated: repeated.length }
}

/** Judged once no delivery is left to make, so that a second one of the same event is among those that arrived. */
async function expectOneWebhookEach(db: Db, receiver: Receiver, ids: readonly string[]): Promise<void> {
  const countPending = async (): Promise<number> =>
    (await db.selectFrom('delivery').select('id').where('status', '=', 'pending').execute()).length
  await until('every delivery is made', async () => (await countPending()) === 0, { timeoutMs: 180_000 })
  const events = new Map<string, string[]>()
  for (const { bytes } of receiver.received) {
    const { event, task_id } = JSON.parse(bytes.toString()) as { event: string; task_id: string }
    events.set(task_id, [...(events.get(task_id) ?? []), event])
  }
  expect(ids.filter((id) => events.get(id)?.join() !== 'task.succeeded')).toEqual([])
}

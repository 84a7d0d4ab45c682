// Load: tasks at a steady rate from one uploaded photo, and checks of their outcomes.
import type { Db } from '@matte/core/db/database'
import { parseResultKey } from '@matte/core/storage/object-key'
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
  /** Changes the rate in tasks per second; 0 pauses. */
  rate(perSecond: number): void
  /** Stops; returns when creations in flight are accepted. */
  stop(): Promise<void>
}

export type LoadOptions = {
  readonly stack: Stack
  /** Receives a webhook of each task. */
  readonly receiver?: Receiver
  readonly bytes?: Uint8Array
}

/** Far below a workspace's limit of open tasks, so a slow machine only delays callers. */
const openMax = 300

/** Creates tasks at a constant rate, independent of earlier ones, while fewer than the maximum are open. */
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
          // The API may reject a task for lack of capacity; it is then not accepted.
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
   * `one`: no task used more than one attempt. `more`: a controller was killed, which costs its tasks one attempt each
   * and may leave an unreferenced result in the store.
   */
  readonly attempts?: 'one' | 'more'
}

export type Outcome = {
  readonly tasks: number
  /** Tasks with more than one attempt. */
  readonly repeated: number
}

/**
 * Asserts that nothing was lost, repeated or failed: every accepted task succeeded in its first run, with one result in
 * the store and, if requested, one webhook; and all counters agree.
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
  // A worker that lost its claim may still be deleting its result.
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

/** Runs once no delivery is pending, so a duplicate would have arrived. */
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

// Callers that create tasks one after the other and log the responses. At the end the log is compared with the
// database, the receiver of webhooks and the ledger.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { findBrokenRules } from '../../support/invariants.ts'
import type { Receiver } from '../../support/receiver.ts'
import { eventsOf } from '../../support/tasks.ts'
import { until } from '../../support/until.ts'

type Target = {
  readonly origin: string
  readonly apiKey: string
  readonly imageUrl: string
  readonly callbackUrl: string
}

export type Load = {
  /** Tasks that a caller saw succeed, in order. */
  readonly done: readonly string[]
  /** Waits until this many more tasks have succeeded. */
  untilMore(count: number): Promise<void>
  /** Ends after the tasks in flight. */
  stop(): Promise<void>
  /** Responses other than those of success, with their number. */
  readonly others: ReadonlyMap<string, number>
  readonly accepted: readonly string[]
}

/** Each caller waits for the end of its task before it creates the next one. */
export function startLoad(target: Target, callers = 3): Load {
  const done: string[] = []
  const accepted: string[] = []
  const others = new Map<string, number>()
  let stopped = false

  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${target.origin}/api/v1/open/developer${path}`, {
      method,
      headers: {
        'x-api-key': target.apiKey,
        ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000), // a bound against hanging
    })
    const answer = (await response.json()) as { data: unknown; error?: { code: string } }
    if (response.ok) return answer.data
    const kind = `${method} ${response.status} ${answer.error?.code}`
    others.set(kind, (others.get(kind) ?? 0) + 1)
    return undefined
  }

  async function keepCutting(): Promise<void> {
    while (!stopped) {
      const { imageUrl, callbackUrl } = target
      const task = (await call('POST', '/tasks', { imageUrl, callbackUrl })) as { id: string } | undefined
      if (task === undefined) continue
      accepted.push(task.id)
      await until(
        `task ${task.id} succeeds`,
        async () => ((await call('GET', `/tasks/${task.id}`)) as { status: string }).status === 'succeeded',
        { everyMs: 50 },
      )
      done.push(task.id)
    }
  }

  const running = Array.from({ length: callers }, keepCutting)
  return {
    ...{ done, accepted, others },
    untilMore: async (count) => {
      const enough = done.length + count
      await Promise.race([until(`${count} more tasks succeed`, () => done.length >= enough), Promise.all(running)])
    },
    stop: async () => {
      stopped = true
      await Promise.all(running)
    },
  }
}

/** Nothing accepted is missing, unfinished, charged twice or reported twice, and no caller saw an error. */
export async function expectNothingLost(load: Load, db: Db, receiver: Receiver): Promise<void> {
  const accepted = [...load.accepted].sort()
  expect(new Set(accepted).size).toBe(accepted.length)
  expect(Object.fromEntries(load.others)).toEqual({})
  const tasks = await db.selectFrom('task').select(['id', 'status', 'attempt']).execute()
  expect(tasks.map(({ id }) => id).sort()).toEqual(accepted)
  expect(tasks.filter(({ status, attempt }) => status !== 'succeeded' || attempt > 1)).toEqual([])
  const holds = await db.selectFrom('credit_hold').select(['task_id', 'amount', 'state']).execute()
  expect(holds.map(({ task_id }) => task_id).sort()).toEqual(accepted)
  expect(new Set(holds.map(({ amount, state }) => `${amount} ${state}`))).toEqual(new Set(['1 captured']))
  await until('every webhook arrived', () => accepted.every((id) => eventsOf(receiver, id).length > 0))
  const pending = () => db.selectFrom('delivery').select('id').where('status', '=', 'pending').execute()
  await until('no delivery is pending', async () => (await pending()).length === 0)
  for (const id of accepted) expect(eventsOf(receiver, id)).toEqual(['task.succeeded'])
  expect(await findBrokenRules(db)).toEqual({})
}

export type Waits = { readonly tasks: number; readonly p50: number; readonly p95: number; readonly max: number }

/** Milliseconds from creation to the first claim of these tasks, by the clock of PostgreSQL. */
export async function readWaits(db: Db, ids: readonly string[]): Promise<Waits> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from min(p.at) - min(q.at)) * 1000)::float8 as ms
      from task_event q join task_event p on p.task_id = q.task_id and p.type = 'processing'
     where q.type = 'queued' and q.task_id in (${sql.join([...ids])})
     group by q.task_id order by ms`.execute(db)
  const at = (share: number): number => Math.round(rows[Math.ceil(share * rows.length) - 1]?.ms ?? Number.NaN)
  return { tasks: rows.length, p50: at(0.5), p95: at(0.95), max: at(1) }
}

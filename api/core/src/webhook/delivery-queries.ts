import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export const canceled = {
  status: 'canceled',
  completed_at: sql<Date>`now()`,
  claim: null,
  claimed_until: null,
} as const

/** Cancels pending deliveries to an endpoint. An attempt in flight may still arrive, unrecorded. */
export function cancelEndpointDeliveries(db: Db, endpointId: string) {
  return db
    .updateTable('delivery')
    .set(canceled)
    .where('endpoint_id', '=', endpointId)
    .where('status', '=', 'pending')
    .execute()
}

/** Moves pending deliveries to an endpoint's new target; they count for its new host. */
export function moveEndpointDeliveries(db: Db, endpointId: string, { href, host }: { href: string; host: string }) {
  return db
    .updateTable('delivery')
    .set({ target_url: href, target_host: host })
    .where('endpoint_id', '=', endpointId)
    .where('status', '=', 'pending')
    .execute()
}

/**
 * Cancels pending and paused deliveries of a task's event for runs before `beforeRun`, so a retried task does not
 * announce an earlier failure (D33). An attempt in flight may still arrive, unrecorded.
 */
export function cancelTaskDeliveries(db: Db, { taskId, event, beforeRun }: CancelDeliveries) {
  return db
    .updateTable('delivery')
    .set(canceled)
    .where('task_id', '=', taskId)
    .where('event', '=', event)
    .where('run', '<', beforeRun)
    .where('status', 'in', ['pending', 'paused'])
    .execute()
}

type CancelDeliveries = { readonly taskId: string; readonly event: string; readonly beforeRun: number }

type DueState = {
  /** Due and unclaimed; counted up to the given bound. */
  readonly waiting: number
  /** Time that the oldest of them has been due; 0 if there is none. */
  readonly oldestDueAgeMs: number
  /** Time until the next delivery is due or a claim lapses; null if there is none. */
  readonly nextDueInMs: number | null
}

/**
 * State of the queue by three short index scans: ready, newly due, and next. The bound is a subquery, because a planner
 * that knew it read and sorted all rows.
 */
export async function readDueState(db: Db, waitingMax: number): Promise<DueState> {
  const next = sql`coalesce(claimed_until, due_at)`
  const bound = sql`(select ${waitingMax}::int)`
  const { rows } = await sql<DueState>`
    select least(count(*), ${bound})::int as waiting,
           coalesce(extract(epoch from now() - min(due_at)) * 1000, 0)::float8 as "oldestDueAgeMs",
           (select extract(epoch from ${next} - now()) * 1000 from delivery
             where status = 'pending' and not ready and ${next} > now()
             order by ${next} limit 1)::float8 as "nextDueInMs"
      from ((select due_at from delivery
              where status = 'pending' and ready and due_at <= now()
              order by due_at limit ${bound})
            union all
            (select due_at from delivery
              where status = 'pending' and not ready and ${next} <= now()
              order by ${next} limit ${bound})) due`.execute(db)
  return rows[0] ?? { waiting: 0, oldestDueAgeMs: 0, nextDueInMs: null }
}

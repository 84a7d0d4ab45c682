// Claims the next tasks for the free slots of a worker. PostgreSQL chooses (D39), so lost and repeated nudges change
// nothing. If the worker dies, the claim expires at `claimed_until` and the row is due again in the same run.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { DoorWish, Output, TaskTable } from '../../db/tables/task.ts'
import type { Plans } from '../../workspace/plan.ts'
import { maxAttempts } from '../limits.ts'
import { completeOutput } from '../output.ts'
import type { Claim } from '../task.ts'

export type ClaimedTask = Claim & {
  readonly workspaceId: string
  readonly plan: string
  readonly batchId: string | null
  readonly modelVersion: string
  readonly sourceKey: string
  readonly sourceEtag: string
  readonly sourceSizeBytes: number
  /** Null: defaults. */
  readonly output: Output | null
  readonly door: DoorWish | null
  readonly charge: TaskTable['charge']
  readonly attempt: number
  readonly faultAttempts: number
  readonly createdAt: Date
  readonly callbackUrl: string | null
  readonly traceparent: string | null
  /** Milliseconds from `queued_at` to this claim by the database clock. */
  readonly waitedMs: number
  /** Whether an earlier claim expired, because its worker died or was cut off. Null: first claim of the run. */
  readonly takenOver: boolean | null
}

type ClaimOptions = {
  /** Model versions served by the caller's ready pods. */
  readonly models: readonly string[]
  /** Maximum number of tasks: the free slots. At least 1. */
  readonly limit: number
  readonly plans: Plans
  readonly claimMs: number
}

export type Claims = {
  readonly tasks: readonly ClaimedTask[]
  /** Whether another claim may find a task now. False also if tasks wait for the limit of their workspace. */
  readonly more: boolean
}

/** Bound on retries after other workers took the task, far above the number of workers. */
const triesMax = 32

/** Claims the next tasks for these models: one or more of the same workspace (A190), in the order of single claims. */
export async function claimNextTasks(db: Db, options: ClaimOptions): Promise<Claims> {
  for (let tries = 0; tries < triesMax; tries++) {
    const rows = await tryClaim(db, options, tries % 2 === 0)
    const tasks = rows.filter(isClaimed).map(toTask)
    const more = rows.some((row) => row.more)
    if (tasks.length > 0 || !more) return { tasks, more }
  }
  return { tasks: [], more: true }
}

type Row = { readonly more: boolean; readonly counted: boolean | null } & (
  | ClaimedTask
  | { readonly [Field in keyof ClaimedTask]: null }
)

const isClaimed = (row: Row): row is Row & ClaimedTask => row.id !== null

const toTask = ({ more: _, counted: __, ...task }: Row & ClaimedTask): ClaimedTask => ({
  ...task,
  output: completeOutput(task.output),
})

/**
 * One statement, which locks at most one workspace:
 * - `due`: attempts to resume: `processing`, due, without live claim, with attempts left;
 * - `slot`: otherwise the workspace with the fewest processing tasks below its limit, ties by the age of its first
 *   task. Its limit is checked again on the locked row, so two claims cannot exceed it;
 * - `first`: the first tasks of that workspace, singles before children: as many as bring it to the number of the next
 *   workspace, so the order is that of single claims;
 * - `counted`: their number in a function (migration 0049), which the final select calls;
 * - `more`: another task may be claimable, or was found and taken by another claim.
 *
 * Every second try skips `due`, because a suspended worker may hold that row's lock. A try never does both: waiting
 * for a workspace while holding a task violates the lock order.
 *
 * Alternatives that failed: SKIP LOCKED on the workspace (a claim skipped the only busy workspace during a commit and
 * slept); `order by … limit 1 for update` (a row that fails its recheck stays locked: deadlock between two claims);
 * `for update` on the workspace (waits for transactions that only reference it, and blocks the end of runs).
 */
async function tryClaim(db: Db, options: ClaimOptions, resume: boolean): Promise<readonly Row[]> {
  const { models, limit, plans, claimMs } = options
  const names = Object.keys(plans)
  const limits = names.map((name) => plans[name]?.concurrentTasks ?? 0)
  const isDue = sql`${resume}::boolean and status = 'processing' and model_version = any(${models}::text[])
         and due_at <= now() and (claimed_until is null or claimed_until <= now()) and attempt < ${maxAttempts}`
  const { rows } = await sql<Row>`
    with running as materialized (
      select 1 as yes where not exists (select from setting where name = 'dispatchPaused' and value = 'true')
    ), due as materialized (
      select id, claim is not null as lapsed from task where ${isDue} and exists (select from running)
       order by due_at limit ${limit}::int
         for update skip locked
    ), seen_due as materialized (
      select 1 from task where ${isDue} and exists (select from running) limit 1
    ), limits as (
      select * from unnest(${names}::text[], ${limits}::int[]) as p (plan, concurrent)
    ), seen as materialized (
      select w.id, w.processing, p.concurrent, row_number() over (order by w.processing, head.queued_at) as n
        from workspace w
        join limits p on p.plan = w.plan
       cross join lateral (
         select queued_at from task q
          where q.workspace_id = w.id and q.status = 'queued' and q.model_version = any(${models}::text[])
          order by (q.batch_id is not null), q.queued_at, q.id limit 1
       ) head
       where w.waiting and w.processing < p.concurrent
         and exists (select from running) and not exists (select from seen_due)
       order by n limit 2
    ), seen_slot as materialized (
      select id, concurrent, (select processing from seen where n = 2) as next from seen where n = 1
    ), slot as materialized (
      select w.id, w.queued, s.concurrent - w.processing as below,
             least(${limit}::int, s.concurrent - w.processing,
                   case when s.next is not null then greatest(1, s.next - w.processing) end) as room
        from workspace w cross join seen_slot s
       where w.id = s.id and w.processing < s.concurrent
         for no key update of w
    ), first as materialized (
      select t.id from task t
       where t.workspace_id = (select id from slot) and t.status = 'queued'
         and t.model_version = any(${models}::text[])
       order by (t.batch_id is not null), t.queued_at, t.id limit (select room from slot)
         for update skip locked
    ), taken as materialized (
      select count(*)::int as count from first
    ), counted as materialized (
      select count_tasks(slot.id, 0, 0, -taken.count, taken.count) as done from slot, taken where taken.count > 0
    ), claimed as (
      update task set status = 'processing', claim = gen_random_uuid(), attempt = attempt + 1, due_at = now(),
             claimed_until = ${lifeFromNow(claimMs)}, started_at = coalesce(started_at, now())
       where id in (select id from due union all select id from first)
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'processing', jsonb_build_object('run', run, 'attempt', attempt)
        from claimed where id in (select id from first)
       order by queued_at, id
    )
    select c.id, c.run, c.claim, c.workspace_id as "workspaceId", w.plan, c.batch_id as "batchId", c.output, c.door,
           c.charge, c.attempt, c.model_version as "modelVersion", c.source_key as "sourceKey", c.source_etag as "sourceEtag",
           c.source_size_bytes as "sourceSizeBytes", c.fault_attempts as "faultAttempts", c.traceparent,
           c.created_at as "createdAt", c.callback_url as "callbackUrl", due.lapsed as "takenOver",
           (extract(epoch from clock_timestamp() - c.queued_at) * 1000)::bigint as "waitedMs",
           (select done from counted) as counted,
           exists (select from seen_due) or exists (select from seen where n = 2)
             or exists (select from seen_slot)
                and coalesce((select queued > taken.count and below > taken.count from slot, taken), true) as more
      from (select 1) one left join claimed c on true left join workspace w on w.id = c.workspace_id
           left join due on due.id = c.id
     order by (c.batch_id is not null), c.queued_at, c.id`.execute(db)
  return rows
}

/**
 * Lifetime from the moment of the write: `now()` is when the statement began, and it may have waited for a lock since.
 * Claims are still compared with `now()`, which indexes support; the error favours the holder.
 */
const lifeFromNow = (claimMs: number) => sql<Date>`clock_timestamp() + ${claimMs} * interval '1 ms'`

/** Extends a claim. Undefined: it was lost; stop and write nothing. Locks first, so waiting does not shorten it. */
export async function renewClaim(db: Db, { id, run, claim }: Claim, claimMs: number) {
  const { rows } = await sql<{ claimed_until: Date }>`
    with held as materialized (
      select id from task where id = ${id} and run = ${run} and claim = ${claim} and claimed_until > now()
         for no key update)
    update task set claimed_until = ${lifeFromNow(claimMs)} from held where task.id = held.id
    returning claimed_until`.execute(db)
  return rows[0]
}

/**
 * Returns a claim without counting the attempt: no model server or store was available, or this process stops (D32).
 * The task is due again after `delayMs`. Undefined: the claim was lost.
 */
export function giveBackClaim(db: Db, { id, run, claim }: Claim, delayMs: number) {
  return db
    .updateTable('task')
    .set((eb) => ({
      claim: null,
      claimed_until: null,
      attempt: eb('attempt', '-', 1),
      due_at: sql<Date>`now() + ${delayMs} * interval '1 ms'`,
    }))
    .where('id', '=', id)
    .where('run', '=', run)
    .where('claim', '=', claim)
    .returning('id')
    .executeTakeFirst()
}

// Deletes finished tasks after their plan's retention (D24), under the workspace lock, so no task is created meanwhile
// on an upload whose last task is deleted. History, deliveries and settled holds are deleted too; ledger entries and
// daily counters stay as records. delete-objects.ts deletes the objects.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { resultPrefix } from '../storage/object-key.ts'
import type { Plans } from '../workspace/plan.ts'
import { timeOf } from './release-uploads.ts'

/** Objects outlive their row, because result links live for 7 days (D37). */
const objectDelayDays = 8

/** Workspaces per pass, and tasks per transaction, which holds the lock of creations. */
const workspacesMax = 100
const tasksMax = 100
/** Attempts or deliveries per statement: some 30 MB at most, a fraction of a second. */
const recordsMax = 2_000

/**
 * Deletes one batch of tasks in each of at most 100 workspaces; returns the number of tasks. Skips workspaces of
 * unknown plans. Deleted workspaces lose every ended task at once.
 */
export async function deleteOldTasks(db: Db, plans: Plans, pass: SweepPass = {}) {
  for (;;) {
    const workspaces = await findDue(db, plans, pass)
    const old = workspaces.filter(({ isOld }) => isOld)
    const early = workspaces.filter(({ isOld }) => !isOld)
    await sumEach(early, pass, (workspace) => postpone(db, workspace))
    const isLast = workspaces.length < workspacesMax || pass.signal?.aborted
    if (old.length > 0 || isLast) return sumEach(old, pass, (workspace) => deleteBatch(db, workspace, pass))
  }
}

async function deleteBatch(db: Db, workspace: Workspace, pass: SweepPass): Promise<number> {
  const { now, limit = tasksMax } = pass
  if (!(await deleteRecords(db, workspace, { ...pass, limit }))) return 0
  return db.transaction().execute(async (tx) => {
    await moveToEnd(tx, workspace)
    await deleteOldDeliveries(tx, workspace, { now, limit })
    const tasks = await deleteBatchOfTasks(tx, workspace, { now, limit })
    if (tasks.length === 0) return 0
    await insertResultDeletions(tx, tasks, now)
    await releaseUploads(tx, [...new Set(tasks.map((task) => task.uploadId))], now)
    await deleteEmptyBatches(tx, [...new Set(tasks.flatMap((task) => task.batchId ?? []))])
    await noteForAnnouncement(tx, workspace.id, tasks.length)
    return tasks.length
  })
}

type Due = Workspace & {
  /** Its `retention_at`, exactly. */
  readonly at: string
  /** End of its oldest ended task or delivery; null: it has none. */
  readonly oldest: string | null
  readonly isOld: boolean
}

/**
 * Workspaces whose `retention_at` has come, longest ago first; a pass for another time looks at all workspaces. Each
 * one's oldest row is found by index order: with EXISTS the planner scanned the table for workspaces without tasks.
 */
async function findDue(db: Db, plans: Plans, pass: SweepPass): Promise<Due[]> {
  const at = timeOf(pass.now)
  const names = Object.keys(plans)
  const days = names.map((name) => plans[name]?.retentionDays ?? 0)
  const bound = sql`limit ${workspacesMax}`
  const isOld = sql<boolean>`coalesce(oldest <= ${at} - days * interval '1 day', false)`
  const { rows } = await sql<Due>`
    select id, days, retention_at::text as at, oldest::text as oldest, ${isOld} as "isOld"
      from (select w.id, w.retention_at, case when w.deleted_at is null then p.days else 0 end as days
              from workspace w
              join unnest(${names}::text[], ${days}::int[]) as p (plan, days) on p.plan = w.plan
             where w.id <> all(${idsAside(pass)}::uuid[])
                   ${pass.now === undefined ? sql`and w.retention_at <= now() order by w.retention_at ${bound}` : sql``}
           ) w
     cross join lateral (
       select least((select completed_at from task where workspace_id = w.id and completed_at is not null
                      order by completed_at limit 1),
                    (select completed_at from delivery
                      where workspace_id = w.id and task_id is null and completed_at is not null
                      order by completed_at limit 1)) as oldest) o
     ${pass.now === undefined ? sql`` : sql`where ${isOld} ${bound}`}`.execute(db)
  return rows
}

/**
 * Sets the next look at a workspace with nothing old: when its oldest row will be, and within a day, because PLANS may
 * get a shorter retention. Tasks that end meanwhile are kept for seven days at least. A changed plan and a deletion
 * reset `retention_at`, in which case this changes nothing.
 */
async function postpone(db: Db, { id, days, at, oldest }: Due): Promise<number> {
  await sql`
    update workspace
       set retention_at = least(
         ${oldest}::timestamptz + ${days}::int * interval '1 day',
         -- The last tasks of a deleted workspace are deleted as soon as they end.
         case when deleted_at is not null and queued + processing > 0 then now() + interval '1 minute'
              else now() + (0.5 + random() / 2) * interval '1 day' end)
     where id = ${id} and retention_at = ${at}::timestamptz`.execute(db)
  return 0
}

/** Locks the workspace before its tasks (D39), and lets the others of the sweep go first. */
const moveToEnd = (tx: Db, { id }: Workspace) =>
  sql`update workspace set retention_at = now() where id = ${id}`.execute(tx)

type Workspace = { readonly id: string; readonly days: number }

/**
 * Deletes attempts and deliveries first, in bounded statements without the workspace lock: a task can have
 * thousands of attempts with 16 KiB responses. False: aborted; the next sweep continues.
 */
async function deleteRecords(db: Db, workspace: Workspace, pass: SweepPass): Promise<boolean> {
  for (const deletePart of [deleteAttempts, deleteTaskDeliveries]) {
    while ((await deletePart(db, workspace, pass)) > 0) if (pass.signal?.aborted) return false
  }
  return true
}

/** Parts `old`, the oldest tasks, and `alone`, the oldest deliveries without a task. */
const oldDeliveries = ({ id, days }: Workspace, { now, limit = tasksMax }: SweepPass) => {
  const before = sql`${timeOf(now)} - ${days} * interval '1 day'`
  return sql`
    old as materialized (
      select id from task where workspace_id = ${id} and completed_at <= ${before} order by completed_at limit ${limit}
    ), alone as materialized (
      select id from delivery where workspace_id = ${id} and task_id is null and completed_at <= ${before}
       order by completed_at limit ${limit}
    )`
}

async function deleteAttempts(db: Db, workspace: Workspace, pass: SweepPass): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with ${oldDeliveries(workspace, pass)}, going as materialized (
      select a.id from (select d.id from old join delivery d on d.task_id = old.id union all select id from alone) d
        join delivery_attempt a on a.delivery_id = d.id limit ${recordsMax}
    )
    delete from delivery_attempt where id in (select id from going)`.execute(db)
  return Number(numAffectedRows)
}

/** Ended deliveries only; pending ones go with the task. */
async function deleteTaskDeliveries(db: Db, workspace: Workspace, pass: SweepPass): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with ${oldDeliveries(workspace, pass)}, going as materialized (
      select d.id from old join delivery d on d.task_id = old.id where d.completed_at is not null limit ${recordsMax}
    )
    delete from delivery where id in (select id from going)`.execute(db)
  return Number(numAffectedRows)
}

type DeletedTask = {
  id: string
  createdAt: Date
  uploadId: string
  batchId: string | null
  resultKey: string | null
  hasRun: boolean
}

async function deleteBatchOfTasks(tx: Db, { id, days }: Workspace, { now, limit }: SweepPass) {
  const at = timeOf(now)
  const { rows } = await sql<DeletedTask>`
    with old as materialized (
      select id from task where workspace_id = ${id} and completed_at <= ${at} - ${days} * interval '1 day'
       order by completed_at limit ${limit} for update
    ), hold as (
      delete from credit_hold where task_id in (select id from old) and state <> 'open'
    ), gone as (
      delete from task where id in (select id from old)
      returning id, created_at, upload_id, batch_id, result_key, started_at is not null or run > 1 as has_run
    )
    select id, created_at as "createdAt", upload_id as "uploadId", batch_id as "batchId", result_key as "resultKey",
           has_run as "hasRun"
      from gone`.execute(tx)
  return rows
}

/** Schedules the whole prefix of a task, which includes results that crashed workers or lost claims did not record. */
async function insertResultDeletions(tx: Db, tasks: readonly DeletedTask[], now: Date | undefined): Promise<void> {
  const keys = tasks.flatMap((task) => {
    const prefix = resultPrefix(task)
    const { resultKey, hasRun } = task
    return [...(hasRun ? [prefix] : []), ...(resultKey === null || resultKey.startsWith(prefix) ? [] : [resultKey])]
  })
  await sql`
    insert into object_deletion (object_key, due_at)
    select key, ${timeOf(now)} + ${objectDelayDays} * interval '1 day' from unnest(${keys}::text[]) as k (key)
    on conflict do nothing`.execute(tx)
}

/** Releases uploads without remaining tasks; several tasks may share an upload. */
async function releaseUploads(tx: Db, ids: readonly string[], now: Date | undefined): Promise<void> {
  const at = timeOf(now)
  await sql`
    with released as (
      update upload set deleted_at = ${at}
       where id = any(${ids}::uuid[]) and deleted_at is null
         and not exists (select from task where upload_id = upload.id)
      returning object_key
    )
    insert into object_deletion (object_key, due_at)
    select object_key, ${at} + ${objectDelayDays} * interval '1 day' from released
    on conflict do nothing`.execute(tx)
}

async function deleteEmptyBatches(tx: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from batch where id = any(${ids}::uuid[]) and not exists (select from task where batch_id = batch.id)
  `.execute(tx)
}

async function deleteOldDeliveries(tx: Db, { id, days }: Workspace, { now, limit }: SweepPass): Promise<void> {
  await sql`
    delete from delivery where id in (
      select id from delivery
       where workspace_id = ${id} and task_id is null and completed_at <= ${timeOf(now)} - ${days} * interval '1 day'
       order by completed_at limit ${limit})`.execute(tx)
}

async function noteForAnnouncement(tx: Db, workspaceId: string, deleted: number): Promise<void> {
  await sql`
    insert into retention_notice as n (workspace_id, deleted) values (${workspaceId}, ${deleted})
    on conflict (workspace_id) do update set deleted = n.deleted + excluded.deleted`.execute(tx)
}

// Finished tasks leave after their plan's retention (D24), in transactions that hold the workspace's row, as a
// creation and a retry do: while one deletes, no task of the workspace is born on an upload whose last task is going.
// With the task go its history, its deliveries and its settled holds; ledger entries and the day's counters stay,
// since they are what money and usage are proved from. The objects follow later, see delete-objects.ts.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { resultPrefix } from '../storage/result-key.ts'
import type { Plans } from '../workspace/plan.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { timeOf } from './release-uploads.ts'

/** Objects outlive their row by so long: a link that was signed at the last moment lives for 7 days (D37). */
const objectDelayDays = 8

/** Workspaces of one pass, and finished tasks of one transaction, which holds the row that creations wait for. */
const workspacesMax = 100
const tasksMax = 100
/** Attempts, or deliveries, of one statement: with the largest answers some 30 MB, a fraction of a second. */
const recordsMax = 2_000

/**
 * Deletes at most one batch of tasks in each of at most 100 workspaces; returns how many tasks. Workspaces whose
 * plan is not configured are left alone: nobody knows what they were promised. Of a deleted workspace everything that
 * has ended goes at once.
 * The oldest row of each workspace is asked for by its order. With EXISTS the planner read the whole table for each
 * workspace that has no task, since one that has all tasks makes it believe to find something at once.
 */
export async function deleteOldTasks(db: Db, plans: Plans, pass: SweepPass = {}) {
  const { now, limit = tasksMax } = pass
  const at = timeOf(now)
  const names = Object.keys(plans)
  const days = names.map((name) => plans[name]?.retentionDays ?? 0)
  const { rows: workspaces } = await sql<{ id: string; days: number }>`
    select w.id, d.days
      from workspace w
      join unnest(${names}::text[], ${days}::int[]) as p (plan, days) on p.plan = w.plan
     cross join lateral (select case when w.deleted_at is null then p.days else 0 end as days) d
     where w.id <> all(${idsAside(pass)}::uuid[]) and ((select completed_at from task
             where workspace_id = w.id and completed_at is not null
             order by completed_at limit 1) <= ${at} - d.days * interval '1 day'
        or (select completed_at from delivery
             where workspace_id = w.id and task_id is null and completed_at is not null
             order by completed_at limit 1) <= ${at} - d.days * interval '1 day')
     limit ${workspacesMax}`.execute(db)
  return sumEach(workspaces, pass, async (workspace) => {
    if (!(await deleteRecords(db, workspace, { ...pass, limit }))) return 0
    return db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, workspace.id)
      await deleteOldDeliveries(tx, workspace, { now, limit })
      const tasks = await deleteBatchOfTasks(tx, workspace, { now, limit })
      if (tasks.length === 0) return 0
      await insertResultDeletions(tx, tasks, now)
      await releaseUploads(tx, [...new Set(tasks.map((task) => task.uploadId))], now)
      await deleteEmptyBatches(tx, [...new Set(tasks.flatMap((task) => task.batchId ?? []))])
      await noteForAnnouncement(tx, workspace.id, tasks.length)
      return tasks.length
    })
  })
}

type Workspace = { readonly id: string; readonly days: number }

/**
 * What belongs to the oldest tasks and deliveries goes before them, a bounded part in each statement and without the
 * workspace's lock: a task can have thousands of attempts, each with an answer of 16 KiB, and deleting all with it
 * would outlast the statement's time and hold creations up. False: told to stop before the end; the next sweep goes on.
 * A failed task that is retried at this moment has lost what was recorded of its earlier runs' webhooks, and no more.
 */
async function deleteRecords(db: Db, workspace: Workspace, pass: SweepPass): Promise<boolean> {
  for (const deletePart of [deleteAttempts, deleteTaskDeliveries]) {
    while ((await deletePart(db, workspace, pass)) > 0) if (pass.signal?.aborted) return false
  }
  return true
}

/** The deliveries that go next: those of the oldest tasks, and the oldest that belong to none. */
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

/** Those that have ended: what is still to be sent goes with the task alone. */
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

/** `completed_at` is set on terminal tasks only, so nothing that is still to be done can go. */
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

/**
 * Everything below a task's prefix goes: beside the result that its row names, what workers stored that died before
 * they recorded it, or that had lost their claim. A key that ends with a slash means all that is below it.
 */
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

/** Of these uploads those that serve no task any more. One object may serve several tasks; the last one decides. */
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

/** A batch goes with the last of its children. */
async function deleteEmptyBatches(tx: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from batch where id = any(${ids}::uuid[]) and not exists (select from task where batch_id = batch.id)
  `.execute(tx)
}

/** Deliveries that belong to no task, and so go with none. */
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

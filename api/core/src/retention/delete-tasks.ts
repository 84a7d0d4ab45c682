// Deletes finished tasks after their retention (D24), under the workspace lock, so no task is created meanwhile on an
// upload whose last task is deleted. History, ended deliveries and settled holds are deleted too; ledger entries and
// daily counters stay as records. delete-objects.ts deletes the objects.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { resultPrefix } from '../storage/object-key.ts'
import type { Plans } from '../workspace/plan.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { planSeconds } from './plan-seconds.ts'
import { timeOf } from './release-uploads.ts'
import { type Doomed, scheduleDeletions } from './schedule-deletion.ts'

/**
 * Objects outlive a row that the plan's days delete, because result links live for 7 days (D37). A chosen retention is
 * a promise about the images, so they are deleted with the row and links end with them.
 */
const objectDelayDays = 8

/** Workspaces per pass, and tasks per transaction, which holds the lock of creations. */
const workspacesMax = 100
const tasksMax = 100
/** Tasks that chose their retention, per pass. */
const ownMax = 1_000
/** Attempts or deliveries per statement: some 30 MB at most, a fraction of a second. */
const recordsMax = 2_000

/**
 * Deletes one batch of tasks in each of at most 100 workspaces, and tasks whose own retention has ended; returns the
 * number of tasks. Skips workspaces of unknown plans. Deleted workspaces lose every ended task at once.
 */
export async function deleteOldTasks(db: Db, plans: Plans, pass: SweepPass = {}) {
  const own = await findDueOwn(db, plans, pass)
  const deleted = await sumEach(own, pass, (workspace) => deleteBatch(db, workspace, pass))
  for (;;) {
    const workspaces = await findDue(db, plans, pass)
    const old = workspaces.filter(({ isOld }) => isOld)
    const early = workspaces.filter(({ isOld }) => !isOld)
    await sumEach(early, pass, (workspace) => postpone(db, workspace))
    const isLast = workspaces.length < workspacesMax || pass.signal?.aborted
    if (old.length > 0 || isLast) return deleted + (await sumEach(old, pass, (each) => deleteBatch(db, each, pass)))
  }
}

async function deleteBatch(db: Db, workspace: Batch, pass: SweepPass): Promise<number> {
  const { now, limit = tasksMax } = pass
  if (!(await deleteRecords(db, workspace, { ...pass, limit }))) return 0
  return db.transaction().execute(async (tx) => {
    // The workspace's lock comes first (D39).
    await (workspace.ids === undefined ? moveToEnd(tx, workspace) : lockWorkspace(tx, workspace.id))
    await deleteOldDeliveries(tx, workspace, { now, limit })
    const tasks = await deleteBatchOfTasks(tx, workspace, { now, limit })
    if (tasks.length === 0) return 0
    await scheduleDeletions(tx, tasks.flatMap(resultsOf), now)
    await releaseUploads(tx, tasks, now)
    await deleteEmptyBatches(tx, [...new Set(tasks.flatMap((task) => task.batchId ?? []))])
    await noteForAnnouncement(tx, workspace.id, tasks.length)
    return tasks.length
  })
}

type Workspace = {
  readonly id: string
  /** Retention of tasks that chose none. */
  readonly seconds: number
  /** Limit of the plan, which also deletes deliveries without a task. */
  readonly planSeconds: number
  /** The workspace or the installation chose `seconds`. */
  readonly isChosen: boolean
}

/** A batch of tasks to delete. `ids`: these, whose own retention has ended; undefined: the workspace's oldest. */
type Batch = Workspace & { readonly ids?: readonly string[] }

type Due = Workspace & {
  /** Its `retention_at`, exactly. */
  readonly at: string
  /** When its first ended task or delivery is too old; null: it has none. */
  readonly due: string | null
  readonly isOld: boolean
}

/**
 * Workspaces whose `retention_at` has come, longest ago first; a pass for another time looks at all workspaces. Each
 * one's oldest row is found by index order: with EXISTS the planner scanned the table for workspaces without tasks.
 */
async function findDue(db: Db, plans: Plans, pass: SweepPass): Promise<Due[]> {
  const at = timeOf(pass.now)
  const bound = sql`limit ${workspacesMax}`
  const isOld = sql<boolean>`coalesce(due <= ${at}, false)`
  const { rows } = await sql<Due>`
    select id, seconds, plan_seconds as "planSeconds", chosen as "isChosen", retention_at::text as at,
           due::text as due, ${isOld} as "isOld"
      from (select w.id, w.retention_at, p.chosen,
                   case when w.deleted_at is null then p.seconds else 0 end as seconds,
                   case when w.deleted_at is null then p.plan_seconds else 0 end as plan_seconds
              from workspace w cross join lateral (${planSeconds(plans)}) p
             where w.id <> all(${idsAside(pass)}::uuid[])
                   ${pass.now === undefined ? sql`and w.retention_at <= now() order by w.retention_at ${bound}` : sql``}
           ) w
     cross join lateral (
       select least((select completed_at + w.seconds * interval '1 second' from task
                      where workspace_id = w.id and ${isOfWorkspace(at, sql`w.plan_seconds`)}
                      order by completed_at limit 1),
                    (select completed_at + w.plan_seconds * interval '1 second' from delivery
                      where workspace_id = w.id and task_id is null and completed_at is not null
                      order by completed_at limit 1)) as due) d
     ${pass.now === undefined ? sql`` : sql`where ${isOld} ${bound}`}`.execute(db)
  return rows
}

/** Ended tasks that chose no retention, and those that outlived the plan, which may have changed since. */
const isOfWorkspace = (at: RawBuilder<Date>, planSeconds: RawBuilder<unknown>) => sql<boolean>`
  (completed_at is not null and (delete_at is null or completed_at <= ${at} - ${planSeconds} * interval '1 second'))`

/** Tasks whose own retention has ended, by workspace, the most overdue first. An unknown plan does not matter. */
async function findDueOwn(db: Db, plans: Plans, pass: SweepPass): Promise<Batch[]> {
  const { rows } = await sql<Batch>`
    select w.id, d.ids, coalesce(p.plan_seconds, ${unknownPlanSeconds})::float8 as "planSeconds", 0 as seconds,
           true as "isChosen"
      from (select workspace_id, array_agg(id) as ids
              from (select id, workspace_id from task
                     where delete_at <= ${timeOf(pass.now)} and workspace_id <> all(${idsAside(pass)}::uuid[])
                     order by delete_at limit ${ownMax}) t
             group by workspace_id) d
      join workspace w on w.id = d.workspace_id
      left join lateral (${planSeconds(plans)}) p on true`.execute(db)
  return rows
}

/** Deliveries of such a workspace are kept. */
const unknownPlanSeconds = 2_000_000_000

/**
 * Sets the next look at a workspace with nothing old: when its first row will be, and within its retention, because
 * tasks end meanwhile, and within a day. A changed plan or retention and a deletion reset `retention_at`, in which case
 * this changes nothing.
 */
async function postpone(db: Db, { id, seconds, at, due }: Due): Promise<number> {
  await sql`
    update workspace
       set retention_at = least(
         ${due}::timestamptz,
         -- The last tasks of a deleted workspace are deleted as soon as they end.
         case when deleted_at is null then now() + ${seconds}::float8 * interval '1 second'
              when queued + processing > 0 then now() + interval '1 minute' end,
         now() + (0.5 + random() / 2) * interval '1 day')
     where id = ${id} and retention_at = ${at}::timestamptz`.execute(db)
  return 0
}

/** Locks the workspace before its tasks (D39), and lets the others of the sweep go first. */
const moveToEnd = (tx: Db, { id }: Workspace) =>
  sql`update workspace set retention_at = now() where id = ${id}`.execute(tx)

/**
 * Deletes attempts and deliveries first, in bounded statements without the workspace lock: a task can have
 * thousands of attempts with 16 KiB responses. False: aborted; the next sweep continues.
 */
async function deleteRecords(db: Db, workspace: Batch, pass: SweepPass): Promise<boolean> {
  for (const deletePart of [deleteAttempts, deleteTaskDeliveries]) {
    while ((await deletePart(db, workspace, pass)) > 0) if (pass.signal?.aborted) return false
  }
  return true
}

/** Ids of at most `limit` tasks that are too old. */
const oldTasks = ({ id, ids, seconds, planSeconds }: Batch, { now, limit = tasksMax }: SweepPass) => {
  const at = timeOf(now)
  if (ids !== undefined)
    return sql`select id from task where id = any(${ids}::uuid[]) and delete_at <= ${at} order by id limit ${limit}`
  return sql`
    select id from task
     where workspace_id = ${id} and completed_at <= ${at} - ${seconds}::float8 * interval '1 second'
       and ${isOfWorkspace(at, sql`${planSeconds}::float8`)}
     order by completed_at limit ${limit}`
}

/** Parts `old`, the oldest tasks, and `alone`, the oldest deliveries without a task. */
const oldDeliveries = (workspace: Batch, pass: SweepPass) => sql`
    old as materialized (${oldTasks(workspace, pass)}), alone as materialized (${oldAlone(workspace, pass)})`

const oldAlone = ({ id, planSeconds }: Workspace, { now, limit = tasksMax }: SweepPass) => sql`
    select id from delivery
     where workspace_id = ${id} and task_id is null
       and completed_at <= ${timeOf(now)} - ${planSeconds}::float8 * interval '1 second'
     order by completed_at limit ${limit}`

async function deleteAttempts(db: Db, workspace: Batch, pass: SweepPass): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with ${oldDeliveries(workspace, pass)}, going as materialized (
      select a.id from (select d.id from old join delivery d on d.task_id = old.id union all select id from alone) d
        join delivery_attempt a on a.delivery_id = d.id limit ${recordsMax}
    )
    delete from delivery_attempt where id in (select id from going)`.execute(db)
  return Number(numAffectedRows)
}

/** Ended deliveries only. */
async function deleteTaskDeliveries(db: Db, workspace: Batch, pass: SweepPass): Promise<number> {
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
  /** Its images went before. */
  isErased: boolean
  /** Somebody chose the retention, so the images go at once. */
  isChosen: boolean
}

/**
 * Webhooks that are still to be sent outlive a task with a short retention: they leave it and become deliveries of the
 * workspace, which the plan's days delete. Those older than that go with the task.
 */
async function deleteBatchOfTasks(tx: Db, workspace: Batch, pass: SweepPass) {
  const planStart = sql`${timeOf(pass.now)} - ${workspace.planSeconds}::float8 * interval '1 second'`
  const { rows: old } = await sql<{ id: string }>`
    select id from task where id in (${oldTasks(workspace, pass)}) for update`.execute(tx)
  const ids = old.map(({ id }) => id)
  if (ids.length === 0) return []
  await sql`
    update delivery set event_key = task_id || ':' || run, task_id = null
     where task_id = any(${ids}::uuid[]) and status = 'pending' and created_at > ${planStart}`.execute(tx)
  const { rows } = await sql<DeletedTask>`
    with hold as (
      delete from credit_hold where task_id = any(${ids}::uuid[]) and state <> 'open'
    )
    delete from task where id = any(${ids}::uuid[])
    returning id, created_at as "createdAt", upload_id as "uploadId", batch_id as "batchId", result_key as "resultKey",
              started_at is not null or run > 1 as "hasRun", erased_at is not null as "isErased",
              delete_at is not null or ${workspace.isChosen} as "isChosen"`.execute(tx)
  return rows
}

const delayOf = ({ isChosen }: DeletedTask): number => (isChosen ? 0 : objectDelayDays)

/** The whole prefix of a task, which includes results that crashed workers or lost claims did not record. */
function resultsOf(task: DeletedTask): Doomed[] {
  const prefix = resultPrefix(task)
  const { resultKey, hasRun, isErased } = task
  if (isErased) return []
  const keys = [...(hasRun ? [prefix] : []), ...(resultKey === null || resultKey.startsWith(prefix) ? [] : [resultKey])]
  return keys.map((key) => ({ key, inDays: delayOf(task) }))
}

/** Releases uploads without remaining tasks; several tasks may share an upload. Its row goes with its object. */
async function releaseUploads(tx: Db, tasks: readonly DeletedTask[], now: Date | undefined): Promise<void> {
  const delays = new Map(tasks.map((task) => [task.uploadId, delayOf(task)]))
  const { rows } = await sql<{ id: string; key: string; writableUntil: Date }>`
    update upload set deleted_at = coalesce(deleted_at, ${timeOf(now)})
     where id = any(${[...delays.keys()]}::uuid[])
       and not exists (select from task where upload_id = upload.id)
    returning id, object_key as key, expires_at as "writableUntil"`.execute(tx)
  await scheduleDeletions(
    tx,
    rows.map(({ id, ...upload }) => ({ ...upload, inDays: delays.get(id) ?? 0 })),
    now,
  )
}

async function deleteEmptyBatches(tx: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from batch where id = any(${ids}::uuid[]) and not exists (select from task where batch_id = batch.id)
  `.execute(tx)
}

async function deleteOldDeliveries(tx: Db, workspace: Workspace, pass: SweepPass): Promise<void> {
  await sql`delete from delivery where id in (${oldAlone(workspace, pass)})`.execute(tx)
}

async function noteForAnnouncement(tx: Db, workspaceId: string, deleted: number): Promise<void> {
  await sql`
    insert into retention_notice as n (workspace_id, deleted) values (${workspaceId}, ${deleted})
    on conflict (workspace_id) do update set deleted = n.deleted + excluded.deleted`.execute(tx)
}

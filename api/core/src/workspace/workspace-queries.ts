import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Plan } from './plan.ts'

export function insertWorkspace(db: Db, { name, plan }: { name: string; plan: string }) {
  return db.insertInto('workspace').values({ name, plan }).returning('id').executeTakeFirstOrThrow()
}

export function findWorkspace(db: Db, id: string) {
  return db.selectFrom('workspace').select(['id', 'name', 'plan']).where('id', '=', id).executeTakeFirst()
}

/**
 * Locks the workspace's row for the caller's transaction: the first of D39's order, before batch, task and lots. A
 * statement after this one sees what every earlier holder of the lock has committed. Undefined: no such workspace.
 */
export function lockWorkspace(tx: Db, id: string) {
  return tx.selectFrom('workspace').select(['id', 'plan']).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

const month = sql<string>`date_trunc('month', now() at time zone 'utc')::date`

/**
 * What is used of the current month's quota. A transaction that began before midnight and waited for the row may
 * find the next month begun in it; it counts there, since going back would forget what the new month has used.
 */
const quotaUsed = sql<number>`case when quota_month >= ${month} then quota_used else 0 end`
const latestMonth = sql<string>`greatest(quota_month, ${month})`

/**
 * Takes the concurrency slot of one new single task: one open single, one queued, one of the month's quota. The update locks
 * the workspace row, and its WHERE decides; no count is read before. No row: a limit is reached, see
 * `findExhaustedLimit`. A new month begins with the first task in it.
 */
export const singleSlot = (workspaceId: string, { concurrentTasks, monthlyQuota }: Plan) => sql<{ id: string }>`
  update workspace
     set open_singles = open_singles + 1, queued = queued + 1, quota_used = ${quotaUsed} + 1,
         quota_month = ${latestMonth}
   where id = ${workspaceId} and open_singles < ${concurrentTasks}::int
     and (${monthlyQuota}::int is null or ${quotaUsed} < ${monthlyQuota}::int)
  returning id`

/** `singleSlot` as a statement of its own. Undefined: a limit is reached. */
export async function takeSingleSlot(db: Db, workspaceId: string, plan: Plan) {
  const { rows } = await singleSlot(workspaceId, plan).execute(db)
  return rows[0]
}

/**
 * After `takeSingleSlot` found no row: which limit it is, concurrency before quota (D4). The row is locked, since an
 * update that finds none keeps no lock: a slot that was freed meanwhile must not make one limit look like the other.
 * Undefined: there is room by now, and whoever holds the lock can take it.
 */
export async function findExhaustedLimit(
  tx: Db,
  workspaceId: string,
  plan: Plan,
): Promise<{ limit: 'concurrency' | 'quota'; resetsAt: Date } | undefined> {
  const row = await tx
    .selectFrom('workspace')
    .select([
      sql<boolean>`open_singles >= ${plan.concurrentTasks}`.as('busy'),
      sql<boolean>`coalesce(${quotaUsed} >= ${plan.monthlyQuota}::int, false)`.as('spent'),
      sql<Date>`(date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'`.as('resetsAt'),
    ])
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (row === undefined || !(row.busy || row.spent)) return undefined
  return { limit: row.busy ? 'concurrency' : 'quota', resetsAt: row.resetsAt }
}

/** Open children of batches that a plan allows at once (D39): so many batches of the largest size. */
export const openChildrenMax = (plan: Plan): number => 4 * plan.batchLimit

/**
 * Takes the slots of a batch's `count` new children, all or none: open children, queued, and quota. They are exempt
 * from the limit of open singles (D39). Undefined: a limit is reached, see `findExhaustedBatchLimit`.
 */
export function takeChildSlots(db: Db, workspaceId: string, plan: Plan, count: number) {
  return db
    .updateTable('workspace')
    .set((eb) => ({
      open_children: eb('open_children', '+', count),
      queued: eb('queued', '+', count),
      quota_used: sql<number>`${quotaUsed} + ${count}::int`,
      quota_month: latestMonth,
    }))
    .where('id', '=', workspaceId)
    .where(sql<boolean>`open_children + ${count}::int <= ${openChildrenMax(plan)}::int`)
    .$if(plan.monthlyQuota !== null, (query) =>
      query.where(sql<boolean>`${quotaUsed} + ${count}::int <= ${plan.monthlyQuota}::int`),
    )
    .returning('id')
    .executeTakeFirst()
}

export type ExhaustedBatchLimit = {
  readonly limit: 'children' | 'quota'
  readonly openChildren: number
  readonly quotaUsed: number
  readonly resetsAt: Date
}

/** After `takeChildSlots` found no row: which limit it is, open children before quota (D4); see `findExhaustedLimit`. */
export async function findExhaustedBatchLimit(
  tx: Db,
  workspaceId: string,
  plan: Plan,
  count: number,
): Promise<ExhaustedBatchLimit | undefined> {
  const row = await tx
    .selectFrom('workspace')
    .select([
      'open_children as openChildren',
      quotaUsed.as('quotaUsed'),
      sql<Date>`(date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'`.as('resetsAt'),
    ])
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.openChildren + count > openChildrenMax(plan)) return { ...row, limit: 'children' }
  const isSpent = plan.monthlyQuota !== null && row.quotaUsed + count > plan.monthlyQuota
  return isSpent ? { ...row, limit: 'quota' } : undefined
}

// Slot of a single task, taken by its creation and by each retry.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { type Plan, type Plans, planNamed } from '../plan.ts'
import { countedMonth, type QuotaReset, quotaExceeded, quotaReset, quotaUsed } from './quota.ts'

/** The limit that a workspace has reached. */
export type ReachedLimit = QuotaReset & { readonly limit: 'concurrency' | 'quota' }

type SlotResult = { readonly kind: 'taken' } | { readonly kind: 'refused'; readonly reached: ReachedLimit }

/**
 * Counts one open single task, one queued task and one of the month's quota. Locks the workspace; its WHERE clause
 * checks the limits. No row: a limit is reached, see `findReachedLimit`. `when`: further condition.
 */
export const singleSlot = (
  workspaceId: string,
  { concurrentTasks, monthlyQuota }: Plan,
  when?: RawBuilder<boolean>,
) => sql<{ id: string }>`
  update workspace
     set open_singles = open_singles + 1, queued = queued + 1, quota_used = ${quotaUsed} + 1,
         quota_month = ${countedMonth}
   where id = ${workspaceId} and open_singles < ${concurrentTasks}::int
     and (${monthlyQuota}::bigint is null or ${quotaUsed} < ${monthlyQuota}::bigint)
     ${when === undefined ? sql`` : sql`and ${when}`}
  returning id`

export async function takeSingleSlot(tx: Db, workspaceId: string, plan: Plan): Promise<SlotResult> {
  const take = async (): Promise<boolean> => (await singleSlot(workspaceId, plan).execute(tx)).rows.length > 0
  if (await take()) return { kind: 'taken' }
  const reached = await findReachedLimit(tx, workspaceId, plan)
  if (reached !== undefined) return { kind: 'refused', reached }
  if (await take()) return { kind: 'taken' }
  throw new Error('no slot could be taken although one was free under the lock')
}

/**
 * The limit that `singleSlot` ran into, concurrency before quota (D4). Locks the row, because an update without a match
 * keeps no lock and a slot may have been freed since. Undefined: there is room now, under the lock.
 */
export async function findReachedLimit(tx: Db, workspaceId: string, plan: Plan): Promise<ReachedLimit | undefined> {
  const row = await tx
    .selectFrom('workspace')
    .select([
      sql<boolean>`open_singles >= ${plan.concurrentTasks}`.as('busy'),
      sql<boolean>`coalesce(${quotaUsed} >= ${plan.monthlyQuota}::bigint, false)`.as('spent'),
      ...quotaReset,
    ])
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (row === undefined || !(row.busy || row.spent)) return undefined
  const { busy, spent: _spent, ...reset } = row
  return { limit: busy ? 'concurrency' : 'quota', ...reset }
}

/** Workspaces that are below the concurrency of their plan. Read without a lock, so it is a hint to try again. */
export async function findWorkspacesWithSlot(
  db: Db,
  ids: readonly string[],
  plans: Plans,
): Promise<readonly { readonly id: string }[]> {
  const rows = await db
    .selectFrom('workspace')
    .select(['id', 'plan', 'open_singles'])
    .where(sql<boolean>`id = any(${[...ids]}::uuid[])`)
    .execute()
  return rows.filter(({ plan, open_singles }) => open_singles < planNamed(plans, plan).concurrentTasks)
}

/** TASK_CONCURRENT_LIMIT or QUOTA_EXCEEDED. */
export const toLimitError = (plan: Plan, reached: ReachedLimit): MatteError =>
  reached.limit === 'quota' ? quotaExceeded(plan, reached) : concurrencyReached(plan)

export const concurrencyReached = ({ concurrentTasks: limit }: Plan): MatteError =>
  new MatteError('TASK_CONCURRENT_LIMIT', `Your plan allows ${limit} open task(s) at once. Wait for one to end.`, {
    details: { limit },
  })

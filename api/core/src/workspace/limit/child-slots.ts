// Slots for children of batches, which have a limit separate from single tasks.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import type { Plan } from '../plan.ts'
import { countedMonth, type QuotaReset, quotaExceeded, quotaReset, quotaUsed } from './quota.ts'

type ReachedLimit = QuotaReset & {
  readonly limit: 'children' | 'quota'
  readonly openChildren: number
  readonly quotaUsed: number
}

type ChildSlotsResult = { readonly kind: 'taken' } | { readonly kind: 'refused'; readonly reached: ReachedLimit }

type ChildSlots = { readonly workspaceId: string; readonly plan: Plan; readonly size: number }

/** Maximum number of open children: four batches of the largest size. */
const openChildrenMax = (plan: Plan): number => 4 * plan.batchLimit

/** Takes slots for `size` children, all or none; locks like `takeSingleSlot`. */
export async function takeChildSlots(tx: Db, wanted: ChildSlots): Promise<ChildSlotsResult> {
  if (await updateCounters(tx, wanted)) return { kind: 'taken' }
  const reached = await findReachedLimit(tx, wanted)
  if (reached !== undefined) return { kind: 'refused', reached }
  if (await updateCounters(tx, wanted)) return { kind: 'taken' }
  throw new Error('no slots could be taken although some were free under the lock')
}

/** Updates the counters; false if a limit is reached. */
async function updateCounters(tx: Db, { workspaceId, plan, size }: ChildSlots): Promise<boolean> {
  const row = await tx
    .updateTable('workspace')
    .set((eb) => ({
      open_children: eb('open_children', '+', size),
      queued: eb('queued', '+', size),
      quota_used: sql<number>`${quotaUsed} + ${size}::int`,
      quota_month: countedMonth,
    }))
    .where('id', '=', workspaceId)
    .where(sql<boolean>`open_children + ${size}::int <= ${openChildrenMax(plan)}::int`)
    .$if(plan.monthlyQuota !== null, (query) =>
      query.where(sql<boolean>`${quotaUsed} + ${size}::int <= ${plan.monthlyQuota}::bigint`),
    )
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Checks open children before quota (D4). Undefined: there is room now, under the lock. */
async function findReachedLimit(tx: Db, { workspaceId, plan, size }: ChildSlots): Promise<ReachedLimit | undefined> {
  const row = await tx
    .selectFrom('workspace')
    .select(['open_children as openChildren', quotaUsed.as('quotaUsed'), ...quotaReset])
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.openChildren + size > openChildrenMax(plan)) return { ...row, limit: 'children' }
  const isSpent = plan.monthlyQuota !== null && row.quotaUsed + size > plan.monthlyQuota
  return isSpent ? { ...row, limit: 'quota' } : undefined
}

/** TASK_CONCURRENT_LIMIT or QUOTA_EXCEEDED. */
export function toChildLimitError(
  { plan, size }: Pick<ChildSlots, 'plan' | 'size'>,
  reached: ReachedLimit,
): MatteError {
  if (reached.limit === 'quota') return quotaExceeded(plan, reached, { used: reached.quotaUsed, size })
  const limit = openChildrenMax(plan)
  return new MatteError(
    'TASK_CONCURRENT_LIMIT',
    `Your plan allows ${limit} open tasks of batches at once. Wait for some to end, or send fewer.`,
    { details: { limit, open: reached.openChildren, size } },
  )
}

import type { Db } from '../db/database.ts'
import { grantCredits } from './lot-queries.ts'

type PlanGrant = {
  readonly workspaceId: string
  readonly plan: string
  /** What the plan grants; 0 grants nothing. */
  readonly credits: number
  /** The paid period that the grant is for, and ends with. Null: granted once in the workspace's life (Free). */
  readonly period: { readonly start: Date; readonly end: Date } | null
}

/**
 * The credits of a plan (D71), once for each period of a workspace, however often it is asked for, and also when the
 * plan has come to grant another number meanwhile. Answers their lot; undefined: the plan grants none.
 */
export async function grantPlanCredits(
  tx: Db,
  { workspaceId, plan, credits, period }: PlanGrant,
): Promise<string | undefined> {
  if (credits === 0) return undefined
  const source = `plan:${plan}:${period?.start.toISOString() ?? 'once'}`
  const before = await findGrant(tx, workspaceId, source)
  if (before !== undefined) return before.id
  const expiresAt = period?.end ?? null
  const lot = await grantCredits(tx, { workspaceId, kind: 'plan', amount: credits, expiresAt, source })
  return lot?.lotId
}

/** The number that was granted stays, whatever the plan grants now. */
const findGrant = (tx: Db, workspaceId: string, source: string) =>
  tx
    .selectFrom('credit_lot')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('source', '=', source)
    .executeTakeFirst()

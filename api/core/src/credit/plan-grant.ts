import type { Db } from '../db/database.ts'
import { grantCredits } from './lot-queries.ts'

type PlanGrant = {
  readonly workspaceId: string
  readonly plan: string
  /** 0 grants nothing. */
  readonly credits: number
  /** Paid period, with which the lot expires. Null: once per workspace (Free). */
  readonly period: { readonly start: Date; readonly end: Date } | null
}

/**
 * Grants the credits of a plan (D71) once per period, even if the plan's number of credits changes. Returns the lot's
 * id; undefined: the plan grants none.
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

const findGrant = (tx: Db, workspaceId: string, source: string) =>
  tx
    .selectFrom('credit_lot')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('source', '=', source)
    .executeTakeFirst()

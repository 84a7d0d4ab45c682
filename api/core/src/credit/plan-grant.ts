import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
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
 * plan has come to grant another number meanwhile.
 */
export async function grantPlanCredits(tx: Db, { workspaceId, plan, credits, period }: PlanGrant): Promise<void> {
  if (credits === 0) return
  const source = `plan:${plan}:${period?.start.toISOString() ?? 'once'}`
  try {
    await grantCredits(tx, { workspaceId, kind: 'plan', amount: credits, expiresAt: period?.end ?? null, source })
  } catch (error) {
    if (!(error instanceof MatteError && error.code === 'CONFLICT')) throw error
  }
}

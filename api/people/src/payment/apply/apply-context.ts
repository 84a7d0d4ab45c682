import type { Db } from '@matte/core/db/database'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import type { PaymentDeps } from '../payment-deps.ts'

/** A transaction that changes payments and has locked the workspace's row. */
export type ApplyContext = Pick<PaymentDeps, 'plans' | 'seller' | 'metrics'> & {
  readonly tx: Db
  readonly provider: string
  readonly workspaceId: string
  readonly now: Date
}

export async function lockForApply(tx: Db, deps: PaymentDeps, workspaceId: string): Promise<ApplyContext> {
  await lockWorkspace(tx, workspaceId)
  const { provider, plans, seller, metrics } = deps
  return { tx, provider: provider.name, plans, seller, metrics, workspaceId, now: await timeOf(tx, deps) }
}

export async function timeOf(db: Db, { now }: Pick<PaymentDeps, 'now'>): Promise<Date> {
  if (now !== undefined) return now()
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return (rows[0] as { now: Date }).now
}

/** Sequence number for the next reading at the provider; later readings have higher numbers. */
export async function nextReading(db: Db): Promise<number> {
  const { rows } = await sql<{ reading: number }>`select nextval('provider_reading') as reading`.execute(db)
  return (rows[0] as { reading: number }).reading
}

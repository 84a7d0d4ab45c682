import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { PaymentDeps } from '../payment-deps.ts'

/** One transaction that applies what a provider said. It has locked the workspace's row. */
export type Applying = Pick<PaymentDeps, 'plans' | 'seller' | 'metrics'> & {
  readonly tx: Db
  readonly provider: string
  readonly workspaceId: string
  /** The database's time, or the simulated one. */
  readonly now: Date
}

export async function timeOf(db: Db, { now }: Pick<PaymentDeps, 'now'>): Promise<Date> {
  if (now !== undefined) return now()
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return (rows[0] as { now: Date }).now
}

/** A number for what is read next; one reading that began before another one has the lower number. */
export async function nextReading(db: Db): Promise<number> {
  const { rows } = await sql<{ reading: number }>`select nextval('provider_reading') as reading`.execute(db)
  return (rows[0] as { reading: number }).reading
}

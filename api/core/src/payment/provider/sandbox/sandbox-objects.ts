import { sql } from 'kysely'
import type { Db } from '../../../db/database.ts'
import type { States } from './sandbox-state.ts'

export async function readState<K extends keyof States>(db: Db, kind: K, id: string): Promise<States[K] | undefined> {
  const row = await db
    .selectFrom('sandbox_object')
    .select('state')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return row?.state as States[K] | undefined
}

/** What a payment was for. */
export async function findPaid(db: Db, paymentId: string) {
  const row = await db
    .selectFrom('sandbox_object')
    .select(['id', 'kind'])
    .where(sql<boolean>`state ->> 'paymentId' = ${paymentId}`)
    .where('kind', 'in', ['checkout', 'invoice'])
    .executeTakeFirst()
  return row && { id: row.id, kind: row.kind === 'invoice' ? ('invoice' as const) : ('checkout' as const) }
}

/** For a change of it: nobody else reads it for one until the transaction ends. */
export async function lockState<K extends keyof States>(tx: Db, kind: K, id: string): Promise<States[K] | undefined> {
  const row = await tx
    .selectFrom('sandbox_object')
    .select('state')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .forUpdate()
    .executeTakeFirst()
  return row?.state as States[K] | undefined
}

type Written<K extends keyof States> = { readonly kind: K; readonly id: string; readonly state: States[K] }

/** `dueAt`: when something happens to it by itself. */
export async function writeState<K extends keyof States>(
  tx: Db,
  { kind, id, state }: Written<K>,
  dueAt: Date | null = null,
): Promise<void> {
  const values = { state: JSON.stringify(state), due_at: dueAt }
  await tx
    .insertInto('sandbox_object')
    .values({ id, kind, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
    .execute()
}

/** Subscriptions whose period has ended, and refunds that come back. */
export const listDueObjects = (db: Db, now: Date, limit: number) =>
  db
    .selectFrom('sandbox_object')
    .select(['id', 'kind'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()

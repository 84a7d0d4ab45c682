// Rows that the provider has to be asked about. A round has one row of each workspace, and a row without an answer
// comes after the others, so neither many orders nor a provider that hangs over them delays other workspaces.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass } from '../../db/sweep.ts'
import { applyFacts } from '../apply/apply-facts.ts'
import { nextReading, timeOf } from '../apply/applying.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import type { Subject } from '../provider/provider.ts'

export const limitDefault = 50

type Due = { readonly id: string; readonly workspaceId: string; readonly askedAt: Date | null }
type Checked = 'subscription' | 'payment_order' | 'refund'

/** Pause before a row is asked about again, if `check_at` did not move on. */
const againSeconds = 60

export async function listDue({ db, ...deps }: PaymentDeps, table: Checked, pass: SweepPass): Promise<Due[]> {
  const now = await timeOf(db, deps)
  const { rows } = await sql<Due>`
    select id, "workspaceId", "askedAt" from (
      select distinct on (workspace_id)
             id, workspace_id as "workspaceId", asked_at as "askedAt", greatest(check_at, asked_at) as since
        from ${sql.table(table)}
       where check_at <= ${now} and id <> all(${idsAside(pass)}::uuid[])
         and (asked_at is null or asked_at < check_at
              or asked_at <= ${now}::timestamptz - ${againSeconds} * interval '1 second')
       order by workspace_id, since
    ) due order by since limit ${pass.limit ?? limitDefault}`.execute(db)
  return rows
}

/** Notes that the row is being asked about. False: another dispatcher has noted it since the row was listed. */
export async function takeDue({ db, ...deps }: PaymentDeps, table: Checked, { id, askedAt }: Due): Promise<boolean> {
  const now = await timeOf(db, deps)
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set asked_at = ${now}
     where id = ${id} and asked_at is not distinct from ${askedAt}`.execute(db)
  return numAffectedRows === 1n
}

export const setCheck = (db: Db, { table, id }: { table: 'payment_order' | 'refund'; id: string }, at: Date | null) =>
  sql`update ${sql.table(table)} set check_at = ${at} where id = ${id}`.execute(db)

export async function readAgain(deps: PaymentDeps, subject: Subject): Promise<void> {
  const reading = await nextReading(deps.db)
  const facts = await deps.provider.read(subject)
  if (facts !== undefined) await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
}

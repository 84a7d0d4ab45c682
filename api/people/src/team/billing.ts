import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import type { InvoiceTable, SubscriptionTable } from '@matte/core/db/tables/payment'
import type { Billing } from '@matte/core/db/tables/workspace'
import { type Selectable, sql } from 'kysely'
import { lockTeam, type TeamMember, teamNotFound } from './lock-team.ts'

type Invoice = Pick<Selectable<InvoiceTable>, 'id' | 'number' | 'total' | 'currency'> & {
  readonly issuedAt: Date
  readonly isCreditNote: boolean
}

export type TeamBilling = Billing & {
  readonly plan: string
  readonly subscription: {
    readonly plan: string
    readonly interval: SubscriptionTable['billing_interval']
    readonly status: SubscriptionTable['status']
    readonly periodEnd: Date
    readonly cancelAtPeriodEnd: boolean
  } | null
  readonly invoices: readonly Invoice[]
}

const invoicesMax = 20

export async function readBilling(db: Db, teamId: string): Promise<TeamBilling> {
  const team = await db
    .selectFrom('workspace')
    .select(['plan', 'billing'])
    .where('id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (team === undefined) throw teamNotFound()
  const subscription = await findSubscription(db, teamId)
  const invoices = await listInvoices(db, teamId)
  return { ...emptyBilling, ...team.billing, plan: team.plan, subscription: subscription ?? null, invoices }
}

const findSubscription = (db: Db, teamId: string) =>
  db
    .selectFrom('subscription')
    .select(['plan', 'billing_interval as interval', 'status', 'period_end as periodEnd'])
    .select('cancel_at_period_end as cancelAtPeriodEnd')
    .where('workspace_id', '=', teamId)
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .executeTakeFirst()

const listInvoices = (db: Db, teamId: string): Promise<Invoice[]> =>
  db
    .selectFrom('invoice')
    .select(['id', 'number', 'total', 'currency', 'issued_at as issuedAt'])
    .select((eb) => eb('refund_id', 'is not', null).$castTo<boolean>().as('isCreditNote'))
    .where('workspace_id', '=', teamId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(invoicesMax)
    .execute()

/** Absent fields stay unchanged. @throws MatteError NOT_FOUND, AUTH_FORBIDDEN */
export async function updateBilling(db: Db, actor: TeamMember, changes: Partial<Billing>): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, actor, ['owner', 'billing'])
    const [empty, changed] = [JSON.stringify(emptyBilling), JSON.stringify(changes)]
    await sql`
      update workspace set billing = ${empty}::jsonb || coalesce(billing, '{}') || ${changed}::jsonb
       where id = ${actor.teamId}`.execute(tx)
  })
}

const emptyBilling: Billing = { name: null, addressLines: [], taxId: null, email: null }

import { type Kysely, sql } from 'kysely'

const statements = [
  // Plan in force without a subscription; null: free. Unknown for existing subscriptions.
  `alter table workspace add column operator_plan text`,
  `update workspace w set operator_plan = plan
    where plan <> 'free' and not exists (select from subscription s where s.workspace_id = w.id and s.in_force)`,

  // A separate document cancels the credit note of a failed refund.
  `alter table invoice
     add column corrects uuid unique references invoice (id),
     drop constraint invoice_refund_id_key,
     drop constraint invoice_check1,
     add constraint invoice_kind check (
       num_nonnulls(credit_note_for, corrects) = case when refund_id is null then 0 else 1 end)`,
  `create unique index invoice_credit_note on invoice (refund_id) where corrects is null`,

  // Credits not granted yet at the time of the refund; later months grant less.
  `alter table refund
     add column withheld integer not null default 0 check (withheld >= 0),
     drop constraint refund_check1,
     add constraint refund_credits_taken check (withheld <= credits and (credits = withheld or lot_id is not null))`,
  `alter table subscription_period add column withheld integer not null default 0 check (withheld >= 0)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

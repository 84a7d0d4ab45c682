import { type Kysely, sql } from 'kysely'

// Free credits once per mailbox, even after erasure, and rewards under review.
const statements = [
  // Key of the HMACs: created once and sealed, so rotating master keys keeps it.
  `create table mailbox_key (
    id uuid primary key default gen_random_uuid(),
    single boolean not null default true unique check (single),
    key_sealed text not null
  )`,
  `create table free_credit (
    mailbox bytea primary key check (octet_length(mailbox) = 32),
    user_id uuid references app_user (id),
    forget_at timestamptz,
    check ((user_id is null) = (forget_at is not null))
  )`,
  `create index free_credit_user on free_credit (user_id) where user_id is not null`,
  `create index free_credit_forget on free_credit (forget_at) where forget_at is not null`,

  `alter table referral drop constraint referral_suspicion_check,
     add constraint referral_suspicion_check check (suspicion in ('address', 'payment', 'unpaid', 'limit'))`,
  `create index referral_rewarded on referral (referrer_id, decided_at) where status = 'rewarded'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

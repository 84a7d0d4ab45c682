import { type Kysely, sql } from 'kysely'

const statements = [
  `create table referral_code (
    user_id uuid primary key references app_user (id),
    code text not null unique check (code ~ '^[0-9A-Z]{8}$'),
    created_at timestamptz not null default now()
  )`,
  // A verified account with a referral code is evaluated once.
  `alter table app_user add column referral_judged_at timestamptz`,
  `create index app_user_referral_due on app_user (email_verified_at)
     where referral_code is not null and referral_judged_at is null and email_verified_at is not null
       and erased_at is null`,
  `alter table workspace add column payment_fingerprint text check (length(payment_fingerprint) <= 255)`,

  `create table referral (
    id uuid primary key default gen_random_uuid(),
    referrer_id uuid not null references app_user (id),
    invited_id uuid unique references app_user (id),
    email text check (length(email) between 3 and 254),
    status text not null check (status in ('invited', 'joined', 'review', 'rewarded', 'refused')),
    suspicion text check (suspicion in ('address', 'payment')),
    credits integer check (credits > 0),
    check_at timestamptz,
    invited_at timestamptz,
    joined_at timestamptz,
    decided_at timestamptz,
    created_at timestamptz not null default now(),
    check (referrer_id <> invited_id),
    check ((status = 'invited') = (invited_id is null)),
    check ((invited_id is null) = (joined_at is null)),
    check (invited_id is not null or email is not null),
    check ((check_at is not null) = (status = 'joined')),
    check ((status in ('rewarded', 'refused')) = (decided_at is not null)),
    check (status not in ('review', 'rewarded') or credits is not null)
  )`,
  `create unique index referral_email on referral (referrer_id, lower(email)) where email is not null`,
  `create index referral_address on referral (lower(email), invited_at) where email is not null`,
  `create index referral_page on referral (referrer_id, created_at desc, id desc)`,
  `create index referral_check on referral (check_at) where check_at is not null`,
  `create index referral_review on referral (created_at) where status = 'review'`,

  `create index payment_order_lot on payment_order (lot_id) where lot_id is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

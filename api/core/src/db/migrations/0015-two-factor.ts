import { type Kysely, sql } from 'kysely'

const statements = [
  // One seed per person; logins require it once `enabled_at` is set.
  `create table two_factor (
    user_id uuid primary key references app_user (id),
    secret_sealed text not null,
    enabled_at timestamptz,
    last_step bigint,
    totp_failures timestamptz[] not null default '{}' check (cardinality(totp_failures) <= 5),
    recovery_failures timestamptz[] not null default '{}' check (cardinality(recovery_failures) <= 5),
    created_at timestamptz not null default now(),
    check (enabled_at is null or last_step is not null)
  )`,
  `create table recovery_code (
    user_id uuid not null references two_factor (user_id) on delete cascade,
    hash bytea not null check (octet_length(hash) = 32),
    primary key (user_id, hash)
  )`,
  `create table mfa_token (
    hash bytea primary key check (octet_length(hash) = 32),
    user_id uuid not null references app_user (id),
    tries integer not null default 0 check (tries >= 0),
    expires_at timestamptz not null
  )`,
  `create index mfa_token_user on mfa_token (user_id, expires_at)`,

  `create table email_change (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references app_user (id),
    new_email text not null check (length(new_email) between 3 and 254),
    token_hash bytea not null unique check (octet_length(token_hash) = 32),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create index email_change_user on email_change (user_id, created_at desc)`,

  `create index mail_user on mail (user_id, id) where user_id is not null`,
  `create index api_key_maker on api_key (created_by) where created_by is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

import { type Kysely, sql } from 'kysely'

const statements = [
  // Each refresh spends a token for the next; one token per family is unspent. `derived_by` is the master key of the
  // next token. Refreshing every 15 minutes for 30 days leaves 2,880 rows.
  `create table refresh_token (
    hash bytea primary key,
    session_id uuid not null references session (id) on delete cascade,
    created_at timestamptz not null default now(),
    spent_at timestamptz,
    derived_by text,
    check ((spent_at is null) = (derived_by is null))
  )`,
  `create index refresh_token_session on refresh_token (session_id)`,
  `create unique index refresh_token_unspent on refresh_token (session_id) where spent_at is null`,
  `create index session_over on session (least(expires_at, ended_at))`,

  `create table mail_token (
    hash bytea primary key,
    purpose text not null check (purpose in ('verify-email', 'reset-password')),
    user_id uuid not null references app_user (id) on delete cascade,
    expires_at timestamptz not null,
    created_at timestamptz not null default now()
  )`,
  `create index mail_token_user on mail_token (user_id, purpose, created_at)`,
  `create index mail_token_expires on mail_token (expires_at)`,

  // Requests by address without signing in. They are processed after the response, so it does not reveal whether an
  // account exists.
  `create table account_request (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('register', 'verify-email', 'reset-password')),
    email text not null check (length(email) between 3 and 254),
    password_hash text,
    name text check (length(name) <= 200),
    referral_code text check (length(referral_code) <= 64),
    ip_address inet,
    due_at timestamptz not null default now(),
    attempt integer not null default 0,
    created_at timestamptz not null default now(),
    check ((kind = 'register') = (password_hash is not null))
  )`,
  `create index account_request_due on account_request (due_at, id)`,

  // No foreign key: it would lock the account row, so failed logins would take longer for existing accounts.
  `create table login_event (
    id uuid primary key default gen_random_uuid(),
    user_id uuid,
    success boolean not null,
    method text not null check (method in ('password', 'totp', 'recovery_code', 'verify_email')),
    ip_address inet,
    user_agent text check (length(user_agent) <= 512),
    failure_reason text check (length(failure_reason) <= 64),
    at timestamptz not null default now(),
    check (success = (failure_reason is null))
  )`,
  `create index login_event_page on login_event (user_id, at desc, id desc)`,
  `create index login_event_at on login_event (at)`,

  // Failed logins per account and client network, and per account (network ''). Unlogged: a server crash resets them.
  `create unlogged table login_failure (
    account bytea not null,
    network text not null check (length(network) <= 100),
    failures integer not null check (failures >= 0),
    allowed_at timestamptz not null,
    last_at timestamptz not null,
    told_at timestamptz,
    primary key (account, network)
  ) with (fillfactor = 50)`,
  `create index login_failure_last on login_failure (last_at)`,

  // Invited addresses, for installations that require invitations; team invitations are separate.
  `create table registration_invite (
    email text primary key check (length(email) between 3 and 254 and email = lower(email)),
    created_at timestamptz not null default now()
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

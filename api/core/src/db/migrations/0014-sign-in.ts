import { type Kysely, sql } from 'kysely'

// What signing in needs: refresh tokens of sessions, tokens in mails, what was asked for without signing in, login
// history, failed logins, and whom an operator has invited.
const statements = [
  // The tokens of a family, each of which was spent for the next: one is not. `derived_by` is the master key that the
  // next was derived with. A client that refreshes every quarter of an hour for 30 days leaves 2,880 rows.
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

  // A token in a mail; its row goes when it is used.
  `create table mail_token (
    hash bytea primary key,
    purpose text not null check (purpose in ('verify-email', 'reset-password')),
    user_id uuid not null references app_user (id) on delete cascade,
    expires_at timestamptz not null,
    created_at timestamptz not null default now()
  )`,
  `create index mail_token_user on mail_token (user_id, purpose, created_at)`,
  `create index mail_token_expires on mail_token (expires_at)`,

  // What somebody who is not signed in asked for, by an address that may have an account or none. It is looked up
  // after the answer, so that the answer cannot depend on it.
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

  // Without a reference to the account, which would lock its row: a login that fails must cost the same with one.
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

  // Failed logins by account and client network, and by account alone (network ''). Unlogged, as rate_window is: a
  // crash of the server forgets them.
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

  // Who may register where registration is by invitation, besides those whom a team has invited.
  `create table registration_invite (
    email text primary key check (length(email) between 3 and 254 and email = lower(email)),
    created_at timestamptz not null default now()
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

import { type Kysely, sql } from 'kysely'

const statements = [
  `create table app_user (
    id uuid primary key default gen_random_uuid(),
    email text not null check (length(email) between 3 and 254),
    email_verified_at timestamptz,
    password_hash text,
    name text check (length(name) <= 200),
    locale text not null default 'en' check (length(locale) between 2 and 35),
    time_zone text not null default 'UTC' check (length(time_zone) between 1 and 64),
    avatar_url text check (length(avatar_url) <= 2048),
    referral_code text check (length(referral_code) <= 64),
    registered_from inet,
    disabled_at timestamptz,
    erased_at timestamptz,
    created_at timestamptz not null default now(),
    check (erased_at is null or password_hash is null)
  )`,
  // An erased account keeps its row for references and releases its address.
  `create unique index app_user_email on app_user (lower(email)) where erased_at is null`,

  `create table membership (
    workspace_id uuid not null references workspace (id) on delete cascade,
    user_id uuid not null references app_user (id),
    role text not null check (role in ('owner', 'admin', 'billing', 'member')),
    created_at timestamptz not null default now(),
    primary key (workspace_id, user_id)
  )`,
  `create index membership_user on membership (user_id, created_at)`,
  // Owner of a personal workspace; null when an operator created the workspace.
  `alter table workspace add column personal_of uuid unique references app_user (id)`,

  `create table session (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references app_user (id),
    workspace_id uuid not null references workspace (id),
    ip_address inet,
    user_agent text check (length(user_agent) <= 512),
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at timestamptz
  )`,
  `create index session_page on session (user_id, created_at desc, id desc)`,

  `create table signing_key (
    kid uuid primary key,
    public_jwk jsonb not null,
    private_sealed text not null,
    created_at timestamptz not null default now(),
    active_at timestamptz,
    retired_at timestamptz,
    check (retired_at is null or active_at is not null)
  )`,

  // Signed-in member or creator of the API key; null: an operator, or created before accounts.
  `alter table api_key add column created_by uuid references app_user (id)`,
  `alter table task add column created_by uuid`,
  `alter table batch add column created_by uuid`,

  `create table audit_entry (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid references workspace (id) on delete cascade,
    user_id uuid references app_user (id),
    action text not null,
    target text,
    details jsonb not null default '{}',
    ip_address inet,
    request_id text,
    at timestamptz not null default now()
  )`,
  `create index audit_entry_page on audit_entry (workspace_id, at desc, id desc)`,
  `create index audit_entry_user on audit_entry (user_id, at desc, id desc)`,

  // Each mail is sent once at its due time. Its data is sealed until then because it may hold a token.
  `create table mail (
    id uuid primary key default gen_random_uuid(),
    mail_key text unique,
    user_id uuid references app_user (id),
    to_address text,
    template text not null,
    data_sealed text,
    status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
    attempt integer not null default 0 check (attempt >= 0),
    due_at timestamptz not null default now(),
    claim uuid,
    claimed_until timestamptz,
    error text,
    completed_at timestamptz,
    created_at timestamptz not null default now(),
    check ((status = 'pending') = (completed_at is null)),
    check (status <> 'pending' or (to_address is not null and data_sealed is not null)),
    check ((claim is null) = (claimed_until is null)),
    check (claim is null or status = 'pending')
  )`,
  `create index mail_due on mail (due_at) where status = 'pending'`,

  `create table notification_due (
    id bigint generated always as identity primary key,
    event text not null,
    event_key text not null,
    workspace_id uuid not null references workspace (id) on delete cascade,
    user_id uuid references app_user (id),
    fields jsonb not null,
    at timestamptz not null default now(),
    unique (event, event_key, workspace_id)
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

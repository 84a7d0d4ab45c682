import { type Kysely, sql } from 'kysely'

const statements = [
  // A deleted workspace keeps its row for ledger and invoices; it has no members.
  `alter table workspace add column created_by uuid references app_user (id), add column deleted_at timestamptz`,
  `create index workspace_made on workspace (created_by, created_at) where created_by is not null`,

  `alter table membership add column credit_limit integer check (credit_limit >= 0)`,

  // Credits of a shared workspace used by a member per UTC month; releases are subtracted. Without a foreign key, so a
  // creation does not lock the person's row.
  `create table member_credit_month (
    workspace_id uuid not null references workspace (id) on delete cascade,
    user_id uuid not null,
    month date not null,
    used bigint not null check (used >= 0),
    primary key (workspace_id, user_id, month)
  ) with (fillfactor = 50)`,

  // One row per mail: inviting again ends the previous row, so rows count sent mails.
  `create table team_invite (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id) on delete cascade,
    email text not null check (length(email) between 3 and 254),
    role text not null check (role in ('admin', 'billing', 'member')),
    token_hash bytea not null unique,
    invited_by uuid not null references app_user (id),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at timestamptz,
    ending text check (ending in ('accepted', 'revoked', 'replaced')),
    check ((ended_at is null) = (ending is null))
  )`,
  `create unique index team_invite_open on team_invite (workspace_id, lower(email)) where ended_at is null`,
  `create index team_invite_sent on team_invite (workspace_id, created_at)`,
  `create index team_invite_address on team_invite (lower(email), created_at)`,
  `create index team_invite_inviter on team_invite (invited_by, created_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

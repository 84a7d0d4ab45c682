import { type Kysely, sql } from 'kysely'

const statements = [
  `create table notification (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references app_user (id),
    workspace_id uuid not null references workspace (id) on delete cascade,
    type text not null,
    event_key text not null,
    title text not null,
    body text not null,
    data jsonb not null default '{}',
    read_at timestamptz,
    created_at timestamptz not null default now(),
    unique (user_id, workspace_id, type, event_key)
  )`,
  `create index notification_page on notification (user_id, created_at desc, id desc)`,
  `create index notification_unread on notification (user_id, created_at desc, id desc) where read_at is null`,
  `create index notification_age on notification (created_at)`,

  `create table notification_preference (
    user_id uuid not null references app_user (id),
    event text not null,
    in_app boolean not null,
    email boolean not null,
    primary key (user_id, event)
  )`,

  // Set for tasks created in the App: notifies the creator. Tasks created with API keys do not notify.
  `alter table task add column notify_maker boolean not null default false`,
  `alter table batch add column notify_maker boolean not null default false`,
  // Recipient of a pending notification; the index has pending rows only.
  `alter table task_event add column for_user uuid`,
  `create index task_event_for_user on task_event (id) where for_user is not null`,

  // Sign-in mails do not wait behind bulk notifications.
  `drop index mail_due`,
  `create index mail_due on mail ((coalesce(claimed_until, due_at)))
     where status = 'pending' and template <> 'notification'`,
  `create index mail_due_notification on mail ((coalesce(claimed_until, due_at)))
     where status = 'pending' and template = 'notification'`,
  `create index mail_waiting on mail (created_at) where status = 'pending'`,
  `create index mail_completed on mail (completed_at) where completed_at is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

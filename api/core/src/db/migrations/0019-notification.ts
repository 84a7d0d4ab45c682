import { type Kysely, sql } from 'kysely'

// What people are told: notifications, what they wish of them, and how a task's end gets there; mails in two lines.
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

  // What differs from the defaults of the event.
  `create table notification_preference (
    user_id uuid not null references app_user (id),
    event text not null,
    in_app boolean not null,
    email boolean not null,
    primary key (user_id, event)
  )`,

  // Made in the App: its maker is told of its end. Not so what a key makes, by the thousand.
  `alter table task add column notify_maker boolean not null default false`,
  `alter table batch add column notify_maker boolean not null default false`,
  // Whom this row of history is still to be told; the index holds those alone.
  `alter table task_event add column for_user uuid`,
  `create index task_event_for_user on task_event (id) where for_user is not null`,

  // Who waits in front of a login page does not wait behind ten thousand notifications.
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

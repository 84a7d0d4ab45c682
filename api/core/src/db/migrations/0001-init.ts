import { type Kysely, sql } from 'kysely'

// CHECK constraints enforce the state machine for every code path.
const statements = [
  `create table workspace (
    id uuid primary key default gen_random_uuid(),
    name text not null check (length(name) between 1 and 200),
    kind text not null default 'personal' check (kind in ('personal', 'team')),
    plan text not null,
    open_singles integer not null default 0 check (open_singles >= 0),
    open_children integer not null default 0 check (open_children >= 0),
    queued integer not null default 0 check (queued >= 0),
    processing integer not null default 0 check (processing >= 0),
    quota_month date not null default date_trunc('month', now() at time zone 'utc')::date,
    quota_used integer not null default 0 check (quota_used >= 0),
    callback_secret_sealed text,
    created_at timestamptz not null default now(),
    check (queued + processing = open_singles + open_children)
  )`,
  // Serves claims: workspaces with queued tasks, fewest processing first.
  `create index workspace_waiting on workspace (processing) where queued > 0`,

  `create table api_key (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    name text not null,
    hash bytea not null unique check (octet_length(hash) = 32),
    prefix text not null,
    last_four text not null check (length(last_four) = 4),
    scopes text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  `create index api_key_workspace on api_key (workspace_id, created_at)`,

  `create table upload (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    object_key text not null unique,
    content_type text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    deleted_at timestamptz
  )`,
  `create index upload_unused on upload (created_at) where used_at is null and deleted_at is null`,

  `create table task (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    batch_id uuid,
    status text not null default 'queued'
      check (status in ('queued', 'processing', 'succeeded', 'failed', 'canceled')),
    run integer not null default 1 check (run between 1 and 4),
    model_version text not null,
    upload_id uuid not null references upload (id),
    source_key text not null,
    source_etag text not null,
    source_size_bytes bigint not null check (source_size_bytes > 0),
    callback_url text,
    credit_cost integer not null check (credit_cost >= 0),
    retry_count integer not null default 0 check (retry_count between 0 and 3),
    attempt integer not null default 0 check (attempt >= 0),
    claim uuid,
    claimed_until timestamptz,
    due_at timestamptz not null default now(),
    queued_at timestamptz not null default now(),
    started_at timestamptz,
    completed_at timestamptz,
    failure_reason text check (failure_reason in ('INPUT_UNREADABLE', 'INPUT_TOO_LARGE', 'INPUT_CHANGED',
      'INPUT_MISSING', 'INFERENCE_ERROR', 'INFERENCE_TIMEOUT', 'STORAGE_ERROR', 'INTERNAL')),
    failure_message text,
    result_key text,
    result_format text,
    result_size_bytes bigint,
    width integer check (width > 0),
    height integer check (height > 0),
    foreground jsonb,
    fault_attempts integer not null default 0 check (fault_attempts >= 0),
    dead_letter text check (dead_letter in ('due', 'done')),
    traceparent text,
    created_at timestamptz not null default now(),
    check ((status in ('succeeded', 'failed', 'canceled')) = (completed_at is not null)),
    check ((status = 'succeeded') = (result_key is not null)),
    check ((status = 'failed') = (failure_reason is not null)),
    check ((claim is null) = (claimed_until is null)),
    check (claim is null or status = 'processing'),
    check (status <> 'queued' or started_at is null),
    check (status not in ('processing', 'succeeded') or started_at is not null)
  )`,
  // First queued task of a workspace: single tasks before children, then by age.
  `create index task_queued on task (workspace_id, (batch_id is not null), queued_at, id) where status = 'queued'`,
  `create index task_processing on task (due_at) where status = 'processing'`,
  `create index task_queued_age on task (queued_at) where status in ('queued', 'processing')`,
  `create index task_page on task (workspace_id, created_at desc, id desc)`,
  `create index task_page_status on task (workspace_id, status, created_at desc, id desc)`,
  `create index task_upload on task (upload_id)`,
  `create index task_dead_letter on task (completed_at) where dead_letter = 'due'`,

  `create table task_event (
    id bigint generated always as identity primary key,
    task_id uuid not null references task (id) on delete cascade,
    run integer not null,
    type text not null check (type in ('queued', 'processing', 'attempt_failed', 'succeeded', 'failed', 'canceled',
      'retried', 'dead_letter', 'dead_lettered')),
    payload jsonb not null default '{}',
    at timestamptz not null default now()
  )`,
  `create index task_event_task on task_event (task_id, id)`,
  `create unique index task_event_once on task_event (task_id, run)
     where type in ('succeeded', 'failed', 'canceled')`,

  `create table delivery (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    task_id uuid references task (id) on delete cascade,
    batch_id uuid,
    run integer,
    event text not null,
    endpoint_id uuid,
    target_url text not null,
    target_host text not null,
    body text not null,
    status text not null default 'pending' check (status in ('pending', 'delivered', 'exhausted', 'canceled')),
    attempt integer not null default 0 check (attempt >= 0),
    due_at timestamptz not null default now(),
    claim uuid,
    claimed_until timestamptz,
    completed_at timestamptz,
    traceparent text,
    created_at timestamptz not null default now(),
    check ((status = 'pending') = (completed_at is null)),
    check ((claim is null) = (claimed_until is null)),
    check (claim is null or status = 'pending')
  )`,
  `create index delivery_due on delivery (due_at) where status = 'pending'`,
  `create index delivery_target on delivery (workspace_id, target_host, due_at) where status = 'pending'`,
  `create index delivery_in_flight on delivery (workspace_id, target_host, claimed_until) where claim is not null`,
  `create index delivery_task on delivery (task_id)`,
  // One delivery per event, run and target, even if the transition is retried.
  `create unique index delivery_once on delivery (task_id, run, event, coalesce(endpoint_id::text, target_url))
     where task_id is not null`,

  `create table delivery_attempt (
    id bigint generated always as identity primary key,
    delivery_id uuid not null references delivery (id) on delete cascade,
    attempt integer not null,
    at timestamptz not null default now(),
    duration_ms integer not null,
    status_code integer,
    error text,
    response_body text
  )`,
  `create unique index delivery_attempt_once on delivery_attempt (delivery_id, attempt)`,

  `create table credit_lot (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    kind text not null,
    priority integer not null default 50 check (priority between 0 and 100),
    expires_at timestamptz,
    granted integer not null check (granted > 0),
    available integer not null check (available >= 0),
    held integer not null default 0 check (held >= 0),
    spent integer not null default 0 check (spent >= 0),
    expired integer not null default 0 check (expired >= 0),
    created_at timestamptz not null default now(),
    check (granted = available + held + spent + expired)
  )`,
  `create index credit_lot_spendable on credit_lot (workspace_id, priority, expires_at, created_at, id)
     where available > 0`,
  `create table credit_hold (
    task_id uuid not null references task (id),
    run integer not null,
    lot_id uuid not null references credit_lot (id),
    amount integer not null check (amount > 0),
    state text not null default 'open' check (state in ('open', 'captured', 'released')),
    primary key (task_id, run, lot_id)
  )`,
  `create table credit_entry (
    id bigint generated always as identity primary key,
    workspace_id uuid not null references workspace (id),
    lot_id uuid not null references credit_lot (id),
    task_id uuid,
    run integer,
    from_account text not null check (from_account in ('source', 'available', 'held')),
    to_account text not null check (to_account in ('available', 'held', 'spent', 'expired')),
    amount integer not null check (amount > 0),
    at timestamptz not null default now()
  )`,
  `create index credit_entry_lot on credit_entry (lot_id, id)`,
  `create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
    end $$`,
  `create trigger credit_entry_append_only before update or delete on credit_entry
     for each row execute function refuse_change()`,

  `create table usage_day (
    workspace_id uuid not null references workspace (id),
    day date not null,
    created integer not null default 0,
    succeeded integer not null default 0,
    failed integer not null default 0,
    canceled integer not null default 0,
    credits integer not null default 0,
    latency_ms bigint not null default 0,
    api_requests integer not null default 0,
    primary key (workspace_id, day)
  )`,

  `create table model (
    name text primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    pool text not null,
    triton_model text not null,
    is_default boolean not null default false,
    available boolean not null default false
  )`,
  `create unique index model_one_default on model (is_default) where is_default`,
  // Always valid, even before a controller has written its models.
  `insert into model (name, pool, triton_model, is_default) values ('service-v2', 'default', 'u2netp', true)`,

  `create table setting (
    name text primary key,
    value jsonb not null,
    updated_at timestamptz not null default now()
  )`,
  `insert into setting (name, value) values
     ('maintenance', 'false'), ('batchEnabled', 'true'), ('dispatchPaused', 'false'),
     ('webhooks.allowedTargets', '[]')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

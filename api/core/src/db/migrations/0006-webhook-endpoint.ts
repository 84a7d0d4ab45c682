import { type Kysely, sql } from 'kysely'

const statements = [
  `create table webhook_endpoint (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    -- As the owner entered it; returned in responses.
    target_url text not null check (length(target_url) <= 2048),
    -- Normalized by WHATWG URL, so equal targets are equal texts (D62); deliveries are sent to it.
    target_href text not null,
    target_host text not null,
    event_types text[] not null default '{}',
    status text not null default 'enabled' check (status in ('enabled', 'disabled')),
    disabled_reason text check (disabled_reason in ('OWNER', 'FAILING')),
    description text,
    secret_sealed text not null,
    -- During a rotation: the previous secret and the end of its validity (D63).
    previous_secret_sealed text,
    previous_until timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    last_delivery_at timestamptz,
    last_delivery_status text check (last_delivery_status in ('delivered', 'failed')),
    deleted_at timestamptz,
    check ((status = 'disabled') = (disabled_reason is not null)),
    check ((previous_secret_sealed is null) = (previous_until is null)),
    check ((last_delivery_at is null) = (last_delivery_status is null))
  )`,
  `create index webhook_endpoint_workspace on webhook_endpoint (workspace_id, created_at desc, id desc)
     where deleted_at is null`,
  `alter table delivery add constraint delivery_endpoint foreign key (endpoint_id) references webhook_endpoint (id)`,
  `create index delivery_waiting on delivery (endpoint_id) where status = 'pending' and endpoint_id is not null`,
  `alter table delivery add column event_key text`,
  `create unique index delivery_once_by_key
     on delivery (workspace_id, event, event_key, coalesce(endpoint_id::text, target_url)) where event_key is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

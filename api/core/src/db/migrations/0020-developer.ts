import { type Kysely, sql } from 'kysely'

const statements = [
  // Attempts before the current retry schedule: redelivery restarts the schedule and continues the numbering.
  `alter table delivery add column attempts_before integer not null default 0`,
  // Deliveries of an endpoint or of callback URLs, newest first; each row is in one of the two indexes.
  `create index delivery_page on delivery (endpoint_id, created_at desc, id desc) where endpoint_id is not null`,
  `create index delivery_callback_page on delivery (workspace_id, created_at desc, id desc) where endpoint_id is null`,
  `create index delivery_exhausted_page on delivery (endpoint_id, created_at desc, id desc)
     where status = 'exhausted' and endpoint_id is not null`,
  `create index delivery_exhausted_callback_page on delivery (workspace_id, created_at desc, id desc)
     where status = 'exhausted' and endpoint_id is null`,
  `create index delivery_exhausted on delivery (endpoint_id, completed_at)
     where status = 'exhausted' and endpoint_id is not null`,

  `alter table workspace add column previous_callback_secret_sealed text,
     add column previous_callback_until timestamptz,
     add check ((previous_callback_secret_sealed is null) = (previous_callback_until is null))`,

  `alter table api_key add column successor_id uuid references api_key (id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

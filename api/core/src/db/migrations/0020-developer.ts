import { type Kysely, sql } from 'kysely'

// What owners of webhooks and keys can do by themselves: look at deliveries and have them sent again, rotate the secret
// of callbacks, roll a key.
const statements = [
  // Attempts before the present schedule: a redelivery begins it again, and attempts keep their numbers.
  `alter table delivery add column attempts_before integer not null default 0`,
  // The deliveries of an endpoint, and those of callback URLs, newest first; a row is in one of the two.
  `create index delivery_page on delivery (endpoint_id, created_at desc, id desc) where endpoint_id is not null`,
  `create index delivery_callback_page on delivery (workspace_id, created_at desc, id desc) where endpoint_id is null`,
  // What has failed is looked for among many that have not.
  `create index delivery_exhausted_page on delivery (endpoint_id, created_at desc, id desc)
     where status = 'exhausted' and endpoint_id is not null`,
  `create index delivery_exhausted_callback_page on delivery (workspace_id, created_at desc, id desc)
     where status = 'exhausted' and endpoint_id is null`,
  `create index delivery_exhausted on delivery (endpoint_id, completed_at)
     where status = 'exhausted' and endpoint_id is not null`,

  // During a rotation: the secret before, and until when it is in force (D63).
  `alter table workspace add column previous_callback_secret_sealed text,
     add column previous_callback_until timestamptz,
     add check ((previous_callback_secret_sealed is null) = (previous_callback_until is null))`,

  // The key that took its place when it was rolled, which happens once.
  `alter table api_key add column successor_id uuid references api_key (id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

import { type Kysely, sql } from 'kysely'

const statements = [
  `alter table delivery drop constraint delivery_status_check`,
  // All rows satisfy the narrower constraint, so NOT VALID avoids a scan under lock.
  `alter table delivery add constraint delivery_status_check
     check (status in ('pending', 'delivered', 'exhausted', 'canceled', 'paused')) not valid`,
  `alter table webhook_endpoint
     add column created_by uuid references app_user (id),
     -- Paused deliveries deleted above the limit since the endpoint was disabled.
     add column dropped_deliveries bigint not null default 0`,
  `create index webhook_endpoint_maker on webhook_endpoint (created_by) where created_by is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

import { type Kysely, sql } from 'kysely'

// Unused upload bytes per workspace; the index has unused uploads only. Older grants count without bytes for the
// day that they live.
const statements = [
  `alter table upload add column reserved_bytes bigint not null default 0 check (reserved_bytes >= 0)`,
  `create index upload_unused_workspace on upload (workspace_id, created_at)
     where used_at is null and deleted_at is null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

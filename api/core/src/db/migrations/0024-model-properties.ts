import { type Kysely, sql } from 'kysely'

// Properties reported by a model's pods: input size, views, form, licence, speed. Null until reported; kept without
// pods.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`alter table model add column properties jsonb`).execute(db)
}

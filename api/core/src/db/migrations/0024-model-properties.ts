import { type Kysely, sql } from 'kysely'

// What the pods of a model say of it, for the list of models: input size, views, form, licence, speed. Null until one
// has said it; kept while there are no pods.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`alter table model add column properties jsonb`).execute(db)
}

import { type Kysely, sql } from 'kysely'

// Events without a position, in the order of their numbering. A separate migration, so events stay readable during the
// build; the table holds an hour of events of workspaces with a stream.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      create index streamed_event_unnumbered on streamed_event (workspace_id, created_at, id) where position is null`)
    .execute(db)
}

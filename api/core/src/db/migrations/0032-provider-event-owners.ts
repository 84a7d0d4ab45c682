import { type Kysely, sql } from 'kysely'

// Workspace of each stored event; the event's body is erased with it. A separate migration, so only rows are locked.
const orderInBody = `substring(raw from '"matte_order_id": ?"([0-9a-f-]{36})"')`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      update provider_event e set workspace_id = o.workspace_id from payment_order o
       where e.applied and o.id::text = ${orderInBody}`)
    .execute(db)
}

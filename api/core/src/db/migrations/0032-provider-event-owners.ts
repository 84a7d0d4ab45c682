import { type Kysely, sql } from 'kysely'

// Workspace of stored provider events, whose bodies are erased with it. A separate migration locks rows only.
const orderInBody = `substring(raw from '"matte_order_id": ?"([0-9a-f-]{36})"')`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      update provider_event e set workspace_id = o.workspace_id from payment_order o
       where e.applied and o.id::text = ${orderInBody}`)
    .execute(db)
}

import { type Kysely, sql } from 'kysely'

// The workspace of each stored event, whose body goes with it. A migration of its own, which holds locks of rows alone.
const orderInBody = `substring(raw from '"matte_order_id": ?"([0-9a-f-]{36})"')`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      update provider_event e set workspace_id = o.workspace_id from payment_order o
       where e.applied and o.id::text = ${orderInBody}`)
    .execute(db)
}

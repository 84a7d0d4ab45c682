import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { testEvent } from '../event-catalog.ts'

/** Deliveries per statement. */
const pausedAtOnce = 2_000

/**
 * Pauses deliveries that wait for a disabled endpoint, and cancels tests and samples. An attempt in flight is recorded;
 * its retry is paused when it is claimed. Parts keep each statement short. If this process dies, a dispatcher pauses
 * the rest. Enabling the endpoint ends the loop.
 */
export async function pauseEndpointDeliveries(db: Db, endpointId: string): Promise<void> {
  for (let paused = pausedAtOnce; paused === pausedAtOnce; ) {
    const { numAffectedRows = 0n } = await sql`
      with waiting as materialized (
        select id from delivery
         where endpoint_id = ${endpointId} and status = 'pending' and claim is null
           and exists (select from webhook_endpoint where id = ${endpointId} and status = 'disabled')
         limit ${pausedAtOnce} for update skip locked
      )
      update delivery d
         set status = case when d.event = ${testEvent} or d.sample then 'canceled' else 'paused' end,
             completed_at = now()
        from waiting where d.id = waiting.id`.execute(db)
    paused = Number(numAffectedRows)
  }
}

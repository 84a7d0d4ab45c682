// Deliveries as their owner sees them, with what became of each attempt.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { DeliveryAttemptTable, DeliveryTable } from '../../db/tables/delivery.ts'

export const deliveryColumns = [
  'id',
  'event',
  'endpoint_id',
  'task_id',
  'batch_id',
  'target_url',
  'body',
  'status',
  'attempt',
  'due_at',
  'claimed_until',
  'created_at',
  'completed_at',
] as const

type AttemptRow = Omit<Selectable<DeliveryAttemptTable>, 'id'>
type DeliveryRow = Pick<Selectable<DeliveryTable>, (typeof deliveryColumns)[number]>
export type ShownDelivery = DeliveryRow & { readonly attempts: readonly AttemptRow[] }

/** Attempts of a delivery that are shown, the latest: redeliveries are not bounded in number. */
const attemptsMax = 20

/** Undefined: unknown, or another workspace's. */
export async function findDelivery(db: Db, workspaceId: string, id: string): Promise<ShownDelivery | undefined> {
  const query = db
    .selectFrom('delivery')
    .select(deliveryColumns)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
  const [delivery] = await withAttempts(db, await query.execute())
  return delivery
}

/** Those of the deliveries of which an attempt is recorded, or that wait for none any more. */
export async function findAttemptedDeliveries(db: Db, ids: readonly string[]): Promise<ShownDelivery[]> {
  const { rows } = await sql<{ id: string }>`
    select id from delivery d
     where id = any(${[...ids]}::uuid[])
       and (completed_at is not null or exists (select from delivery_attempt where delivery_id = d.id))`.execute(db)
  if (rows.length === 0) return []
  const attempted = rows.map(({ id }) => id)
  return withAttempts(
    db,
    await db.selectFrom('delivery').select(deliveryColumns).where('id', 'in', attempted).execute(),
  )
}

/** Read after their deliveries, so that none is shown as delivered without the attempt that did it. */
export async function withAttempts<D extends DeliveryRow>(db: Db, deliveries: readonly D[]) {
  if (deliveries.length === 0) return []
  const { rows } = await sql<AttemptRow>`
    select a.* from unnest(${deliveries.map(({ id }) => id)}::uuid[]) as d (id) cross join lateral (
      select delivery_id, attempt, at, duration_ms, status_code, error, response_body
        from delivery_attempt where delivery_id = d.id
       order by attempt desc limit ${attemptsMax}) a
     order by a.attempt`.execute(db)
  const byDelivery = Map.groupBy(rows, (row) => row.delivery_id)
  return deliveries.map((delivery) => ({ ...delivery, attempts: byDelivery.get(delivery.id) ?? [] }))
}

// Deliveries with their attempts, as shown to their owner.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { DeliveryAttemptTable, DeliveryTable } from '../../db/tables/webhook.ts'

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
  'sample',
] as const

type HeaderColumns = 'request_headers' | 'response_headers'
type AttemptRow = Omit<Selectable<DeliveryAttemptTable>, 'id' | HeaderColumns>
type DetailedAttemptRow = Omit<Selectable<DeliveryAttemptTable>, 'id'>
type DeliveryRow = Pick<Selectable<DeliveryTable>, (typeof deliveryColumns)[number]>
export type ShownDelivery = DeliveryRow & { readonly attempts: readonly AttemptRow[] }
export type DetailedDelivery = DeliveryRow & { readonly attempts: readonly DetailedAttemptRow[] }

/** Latest attempts shown: redeliveries are unlimited. */
export const attemptsShownMax = 20

/** The delivery, if this workspace owns it; undefined otherwise. */
export async function findDelivery(db: Db, workspaceId: string, id: string): Promise<ShownDelivery | undefined> {
  const query = db
    .selectFrom('delivery')
    .select(deliveryColumns)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
  const [delivery] = await withAttempts(db, await query.execute())
  return delivery
}

/** The deliveries that have a recorded attempt or are complete. */
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

/** Reads attempts after their deliveries, so a delivered one always has its attempt. */
export async function withAttempts<D extends DeliveryRow>(db: Db, deliveries: readonly D[]) {
  if (deliveries.length === 0) return []
  const { rows } = await sql<AttemptRow>`
    select a.* from unnest(${deliveries.map(({ id }) => id)}::uuid[]) as d (id) cross join lateral (
      select delivery_id, attempt, at, duration_ms, status_code, error, response_body
        from delivery_attempt where delivery_id = d.id
       order by attempt desc limit ${attemptsShownMax}) a
     order by a.attempt`.execute(db)
  const byDelivery = Map.groupBy(rows, (row) => row.delivery_id)
  return deliveries.map((delivery) => ({ ...delivery, attempts: byDelivery.get(delivery.id) ?? [] }))
}

/** The delivery with the headers of its attempts; undefined if this workspace does not own it. */
export async function readDeliveryDetails(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<DetailedDelivery | undefined> {
  const delivery = await findDelivery(db, workspaceId, id)
  if (delivery === undefined) return undefined
  const rows = await db
    .selectFrom('delivery_attempt')
    .select(['attempt', 'request_headers', 'response_headers'])
    .where('delivery_id', '=', id)
    .where('attempt', 'in', [0, ...delivery.attempts.map(({ attempt }) => attempt)]) // never an empty list
    .execute()
  const headers = new Map(rows.map((row) => [row.attempt, row]))
  const none = { request_headers: null, response_headers: null }
  return {
    ...delivery,
    attempts: delivery.attempts.map((row) => ({ ...row, ...none, ...headers.get(row.attempt) })),
  }
}

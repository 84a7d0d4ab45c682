// Sends a delivery again at its owner's request: it becomes pending and due, at the start of the retry schedule. It
// keeps its id, which is the `webhook-id` header, and its body. Locks the workspace first, as a retry of a task does:
// the earlier failure of a retried task must not be announced (D33).
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/in-transaction.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { findDelivery, type ShownDelivery } from './read-delivery.ts'

/** Columns that make a delivery `d` due again. `dueAt`: not in the future. */
export const dueAgain = (dueAt = sql<Date>`now()`) =>
  sql`status = 'pending', completed_at = null, due_at = ${dueAt}, attempts_before = d.attempt`

/** Whether the task of delivery `d` was retried since, so this failure must not be announced. */
export const isOvertaken = sql<boolean>`(d.event = 'task.failed' and exists (
  select from task t where t.id = d.task_id and t.run > d.run))`

type DeliveryRef = { readonly workspaceId: string; readonly id: string }

/**
 * Replaces a waiting retry; repeated before the attempt begins, it changes nothing.
 * @throws MatteError NOT_FOUND; CONFLICT while an attempt is in flight, and for deliveries that cannot be sent again
 */
export function redeliver(db: Db, { workspaceId, id }: DeliveryRef): Promise<ShownDelivery> {
  return inTransaction(db, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    const state = await lockDelivery(tx, { workspaceId, id })
    if (state === undefined) throw deliveryNotFound()
    const obstacle = obstacleOf(state)
    if (obstacle !== undefined) throw new MatteError('CONFLICT', obstacle, { details: { status: state.status } })
    await sql`
      update delivery d
         set ${dueAgain()},
             target_url = coalesce((select target_href from webhook_endpoint where id = d.endpoint_id), d.target_url),
             target_host = coalesce((select target_host from webhook_endpoint where id = d.endpoint_id), d.target_host)
       where d.id = ${id}`.execute(tx)
    const delivery = await findDelivery(tx, workspaceId, id)
    if (delivery === undefined) throw deliveryNotFound()
    return delivery
  })
}

type State = {
  readonly status: string
  readonly isClaimed: boolean
  readonly isOvertaken: boolean
  /** Null for a callback URL. */
  readonly endpointStatus: 'enabled' | 'disabled' | null
}

/** Undefined: no such delivery, or its endpoint was deleted. */
async function lockDelivery(tx: Db, { workspaceId, id }: DeliveryRef): Promise<State | undefined> {
  const { rows } = await sql<State>`
    select d.status, d.claim is not null as "isClaimed",
           ${isOvertaken} as "isOvertaken", e.status as "endpointStatus"
      from delivery d left join webhook_endpoint e on e.id = d.endpoint_id
     where d.id = ${id} and d.workspace_id = ${workspaceId} and e.deleted_at is null
       for update of d`.execute(tx)
  return rows[0]
}

function obstacleOf({ status, isClaimed, isOvertaken, endpointStatus }: State): string | undefined {
  if (endpointStatus === 'disabled') return 'The endpoint is disabled. Enable it first.'
  if (status === 'canceled') return 'This delivery was canceled and cannot be sent again.'
  if (isOvertaken) return 'The task was retried since, so this failure is no longer announced.'
  if (isClaimed) return 'An attempt of this delivery is in flight. Wait for its outcome.'
  return undefined
}

export const deliveryNotFound = (): MatteError =>
  new MatteError('NOT_FOUND', 'There is no delivery with this id in your workspace.')

export const eventNotFound = (): MatteError =>
  new MatteError('NOT_FOUND', 'There is no event with this webhook-id in your workspace.')

// After an outage of a receiver: everything that failed since a time is sent again, that which is exhausted and that
// which waits for its next retry; then the paused deliveries of events since that time (D90). In parts, each a
// transaction under the workspace's lock (see redeliver.ts), so that neither creations nor claims wait for long. If
// this process dies, the parts before are done, and the same request does the rest.
//
// Within a part deliveries fall due in the order of their events, a microsecond apart, and claims go by that time.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { endpointNotFound } from '../endpoint/endpoint.ts'
import { findEndpoint } from '../endpoint/endpoint-queries.ts'
import { dueAgain, isOvertaken } from './redeliver.ts'

type Recovery = {
  readonly workspaceId: string
  readonly endpointId: string
  /** The latest attempt ended, or the event of a paused delivery happened, at this time or later. */
  readonly since: Date
  /** Only counts. */
  readonly dryRun: boolean
}

type Recovered = {
  readonly count: number
  /** There are more than one request takes. */
  readonly more: boolean
  /** One of them, to nudge for. */
  readonly id: string | undefined
}

/** Deliveries of one transaction, and of one request. */
const partMax = 500
const recoveredMax = 10_000

/** @throws MatteError NOT_FOUND; CONFLICT when the endpoint is disabled */
export async function recoverDeliveries(db: Db, recovery: Recovery): Promise<Recovered> {
  const endpoint = await findEndpoint(db, recovery.workspaceId, recovery.endpointId)
  if (endpoint === undefined) throw endpointNotFound()
  if (endpoint.status === 'disabled') throw new MatteError('CONFLICT', 'The endpoint is disabled; enable it first.')
  if (recovery.dryRun) return countFailed(db, recovery)
  let count = 0
  let id: string | undefined
  for (const part of [exhausted, waiting, paused]) {
    for (;;) {
      const limit = Math.min(partMax, recoveredMax - count)
      if (limit === 0) return { count, more: (await countFailed(db, recovery)).count > 0, id }
      const ids = await recoverPart(db, recovery, part(recovery, limit))
      count += ids.length
      id ??= ids[0]
      if (ids.length < limit) break
    }
  }
  return { count, more: false, id }
}

async function recoverPart(db: Db, { workspaceId }: Recovery, part: ReturnType<typeof exhausted>): Promise<string[]> {
  const rows = await db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId)
    return (await recoverStatement(part).execute(tx)).rows
  })
  return rows.map(({ id }) => id)
}

/** Where the endpoint was disabled or deleted meanwhile, nothing is. */
const recoverStatement = (part: ReturnType<typeof exhausted>) => sql<{ id: string }>`
    with failed as materialized (
      ${part} for update of d skip locked
    ), ordered as (
      select id, row_number() over (order by created_at desc, id desc) - 1 as behind from failed
    )
    update delivery d
       set ${dueAgain(sql`now() - behind * interval '1 microsecond'`)},
           target_url = e.target_href, target_host = e.target_host
      from ordered, webhook_endpoint e
     where d.id = ordered.id and e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
    returning d.id`

const exhausted = ({ workspaceId, endpointId, since }: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId} and d.status = 'exhausted'
         and d.completed_at >= ${since} and not ${isOvertaken}
       order by d.completed_at limit ${limit}`

/** Its retry lies ahead; one that is due or claimed is being sent anyway. */
const waiting = ({ workspaceId, endpointId, since }: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId} and d.status = 'pending'
         and d.claim is null and d.due_at > now()
         and exists (select from delivery_attempt where delivery_id = d.id and attempt = d.attempt and at >= ${since})
       limit ${limit}`

const paused = ({ workspaceId, endpointId, since }: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId} and d.status = 'paused'
         and d.created_at >= ${since} and not ${isOvertaken}
       order by d.created_at, d.id limit ${limit}`

async function countFailed(db: Db, recovery: Recovery): Promise<Recovered> {
  const bound = recoveredMax + 1
  const { rows } = await sql<{ count: number }>`
    select count(*) as count
      from ((${exhausted(recovery, bound)}) union all (${waiting(recovery, bound)})
            union all (${paused(recovery, bound)})) failed`.execute(db)
  const count = rows[0]?.count ?? 0
  return { count: Math.min(count, recoveredMax), more: count > recoveredMax, id: undefined }
}

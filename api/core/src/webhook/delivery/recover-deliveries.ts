// Resends deliveries that failed since a given time, after an outage of the receiver: exhausted deliveries, those that
// wait for a retry, and paused ones (D90). It works in parts, each a transaction under the workspace's lock, so
// creations and claims do not wait for long. If this process dies, repeating the request does the rest.
//
// Deliveries become due in the order of their events, a microsecond apart, because claims go by that time.
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
  /** Applies to the end of the latest attempt, or to the event of a paused delivery. */
  readonly since: Date
  /** Only count. */
  readonly dryRun: boolean
}

type Recovered = {
  readonly count: number
  /** More remain than one request handles. */
  readonly more: boolean
  /** Any of them, for the nudge. */
  readonly id: string | undefined
}

/** Deliveries per transaction and per request. */
const partMax = 500
const recoveredMax = 10_000

/** @throws MatteError NOT_FOUND; CONFLICT if the endpoint is disabled */
export async function recoverDeliveries(db: Db, recovery: Recovery): Promise<Recovered> {
  const endpoint = await findEndpoint(db, recovery.workspaceId, recovery.endpointId)
  if (endpoint === undefined) throw endpointNotFound()
  if (endpoint.status === 'disabled') throw new MatteError('CONFLICT', 'The endpoint is disabled. Enable it first.')
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

/** Does nothing if the endpoint was disabled or deleted meanwhile. */
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

/** Deliveries with a future retry; due and claimed ones are being sent anyway. */
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

// Resends deliveries that failed in a span of time, after an outage of the receiver: exhausted deliveries, those that
// wait for a retry, and paused ones. Samples are not resent. It works in parts, each a transaction under the
// workspace's lock, so creations and claims do not wait for long. If this process dies, repeating the request does the
// rest.
//
// Deliveries become due in the order of their events, a microsecond apart, because claims go by that time.

import { sql } from 'kysely'
import type { Audit } from '../../audit/record-change.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { endpointNotFound } from '../endpoint/endpoint.ts'
import { findEndpoint } from '../endpoint/endpoint-queries.ts'
import { dueAgain, isOvertaken } from './redeliver.ts'

/** `pending`: waits for a retry. */
export const recoverableStatuses = ['exhausted', 'pending', 'paused'] as const
export type RecoverableStatus = (typeof recoverableStatuses)[number]

type Recovery = {
  readonly workspaceId: string
  readonly endpointId: string
  /** Applies to the end of the latest attempt, or to the event of a paused delivery. */
  readonly since: Date
  /** Exclusive end of the span; undefined: none. */
  readonly until?: Date | undefined
  /** Undefined: all events. */
  readonly events?: readonly string[] | undefined
  /** Undefined: all of them. */
  readonly statuses?: readonly RecoverableStatus[] | undefined
  /** Only count. */
  readonly dryRun: boolean
  readonly audit?: Audit
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
  let audit: Audit | undefined = recovery.audit // with the first part; the others belong to it
  for (const part of partsOf(recovery)) {
    for (;;) {
      const limit = Math.min(partMax, recoveredMax - count)
      if (limit === 0) return { count, more: (await countFailed(db, recovery)).count > 0, id }
      const ids = await recoverPart(db, { ...recovery, audit }, part(recovery, limit))
      audit = undefined
      count += ids.length
      id ??= ids[0]
      if (ids.length < limit) break
    }
  }
  return { count, more: false, id }
}

type Of = { readonly workspaceId: string; readonly audit: Audit | undefined }

async function recoverPart(db: Db, { workspaceId, audit }: Of, part: ReturnType<typeof exhausted>): Promise<string[]> {
  const rows = await db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId)
    const { rows } = await recoverStatement(part).execute(tx)
    await audit?.(tx)
    return rows
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

type Part = (recovery: Recovery, limit: number) => ReturnType<typeof exhausted>

const partsOf = ({ statuses = recoverableStatuses }: Recovery): Part[] =>
  recoverableStatuses.filter((status) => statuses.includes(status)).map((status) => parts[status])

/** Deliveries `d` of the endpoint that the caller selects. */
const selected = ({ workspaceId, endpointId, events }: Recovery) => {
  const ofEvents = events === undefined ? sql`` : sql` and d.event = any(${[...events]}::text[])`
  return sql`d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId} and not d.sample${ofEvents}`
}

const within = ({ since, until }: Recovery, time: string) => {
  const end = until === undefined ? sql`` : sql` and ${sql.ref(time)} < ${until}`
  return sql`${sql.ref(time)} >= ${since}${end}`
}

const exhausted = (recovery: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where ${selected(recovery)} and d.status = 'exhausted'
         and ${within(recovery, 'd.completed_at')} and not ${isOvertaken}
       order by d.completed_at limit ${limit}`

/** Deliveries with a future retry; due and claimed ones are being sent anyway. */
const waiting = (recovery: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where ${selected(recovery)} and d.status = 'pending' and d.claim is null and d.due_at > now()
         and exists (select from delivery_attempt a
                      where a.delivery_id = d.id and a.attempt = d.attempt and ${within(recovery, 'a.at')})
       limit ${limit}`

const paused = (recovery: Recovery, limit: number) => sql`
      select d.id, d.created_at from delivery d
       where ${selected(recovery)} and d.status = 'paused'
         and ${within(recovery, 'd.created_at')} and not ${isOvertaken}
       order by d.created_at, d.id limit ${limit}`

const parts: Readonly<Record<RecoverableStatus, Part>> = { exhausted, pending: waiting, paused }

async function countFailed(db: Db, recovery: Recovery): Promise<Recovered> {
  const bound = recoveredMax + 1
  const failed = partsOf(recovery).map((part) => sql`(${part(recovery, bound)})`)
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (${sql.join(failed, sql` union all `)}) failed`.execute(db)
  const count = rows[0]?.count ?? 0
  return { count: Math.min(count, recoveredMax), more: count > recoveredMax, id: undefined }
}

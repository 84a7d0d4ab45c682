// Which due deliveries are attempted next. Rules of D65: at most `perTargetInFlight` of a workspace go to one host at
// once, and workspaces take turns, so that a receiver that hangs delays nobody else's deliveries.
//
// The cost follows the number of targets with something pending, never the length of a backlog: the recursive part
// hops from target to target over the index `delivery_target`, and each target offers only as many rows as it may
// still have in flight. Walking the due rows in order of time would read a dead receiver's whole backlog each time.
//
// A dispatcher that dies keeps its claims until they lapse; then the same attempt is claimed again by anyone. The
// number of the attempt grows only when a recorded one has ended, so a crash of ours takes no retry from the owner.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

type ClaimOptions = {
  /** At most so many rows: the free slots. */
  readonly limit: number
  /** How long the claim holds; longer than an attempt can last. */
  readonly claimMs: number
  /** In flight at once for one workspace and target host, over all dispatchers. */
  readonly perTargetInFlight: number
  /** In flight at once for one workspace, so that many hanging hosts of one owner leave slots for others. */
  readonly perWorkspaceInFlight: number
}

export type ClaimRef = { readonly id: string; readonly claim: string; readonly attempt: number }

export type ClaimedDelivery = ClaimRef & {
  readonly workspaceId: string
  readonly taskId: string | null
  readonly event: string
  /** Null for a callback URL. */
  readonly endpointId: string | null
  /** Of a callback URL; an endpoint is asked for its own when it is dialled. */
  readonly targetUrl: string
  readonly targetHost: string
  readonly body: string
  readonly traceparent: string | null
  /** The database's clock when this was claimed, milliseconds since the epoch: the base of the signature's time. */
  readonly claimedAtMs: number
}

/** Claims due deliveries and counts the attempt that begins. `db` must be the pool: this is a transaction. */
export function claimDueDeliveries(db: Db, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  return db.transaction().execute(async (tx) => {
    // Two claims at once would both see the same number in flight, so they go one after the other. A dispatcher that
    // is stopped right here must not hold up the rest: after 2 s the server ends its transaction.
    await sql`select pg_advisory_xact_lock(hashtext('matte.delivery.claim')),
                     set_config('idle_in_transaction_session_timeout', '2000', true)`.execute(tx)
    const { rows } = await claimStatement(options).execute(tx)
    return rows
  })
}

const claimStatement = ({ limit, claimMs, perTargetInFlight, perWorkspaceInFlight }: ClaimOptions) => {
  const claimable = sql`d.status = 'pending' and d.due_at <= now() and (d.claim is null or d.claimed_until <= now())`
  return sql<ClaimedDelivery>`
    with recursive target as (
      (select workspace_id, target_host from delivery where status = 'pending'
        order by workspace_id, target_host limit 1)
      union all
      select next.workspace_id, next.target_host
        from target t cross join lateral (
          select workspace_id, target_host from delivery
           where status = 'pending' and (workspace_id, target_host) > (t.workspace_id, t.target_host)
           order by workspace_id, target_host limit 1) next
    ), in_flight as (
      select workspace_id, target_host, count(*) as busy,
             sum(count(*)) over (partition by workspace_id) as workspace_busy
        from delivery where claim is not null and claimed_until > now()
       group by workspace_id, target_host
    ), workspace_in_flight as (
      select workspace_id, max(workspace_busy) as busy from in_flight group by workspace_id
    ), candidate as (
      select due.id, due.due_at,
             coalesce(w.busy, 0) + row_number() over (partition by t.workspace_id order by due.due_at, due.id) as turn
        from target t
        left join in_flight f using (workspace_id, target_host)
        left join workspace_in_flight w on w.workspace_id = t.workspace_id
       cross join lateral (
          select d.id, d.due_at from delivery d
           where d.workspace_id = t.workspace_id and d.target_host = t.target_host and ${claimable}
           order by d.due_at
           limit greatest(0, ${perTargetInFlight}::int - coalesce(f.busy, 0))) due
    ), chosen as (
      select id from candidate where turn <= ${perWorkspaceInFlight}::int order by turn, due_at limit ${limit}::int
    ), picked as (
      -- Rows that somebody cancels or records at this moment are left out, and judged again once locked.
      select d.id from delivery d join chosen using (id) where ${claimable} for update of d skip locked
    )
    update delivery d
       set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
           claimed_until = now() + ${claimMs} * interval '1 ms'
      from picked where d.id = picked.id
    returning d.id, d.claim, d.attempt, d.workspace_id as "workspaceId", d.task_id as "taskId", d.event,
              d.endpoint_id as "endpointId", d.target_url as "targetUrl", d.target_host as "targetHost", d.body,
              d.traceparent, (extract(epoch from now()) * 1000)::float8 as "claimedAtMs"`
}

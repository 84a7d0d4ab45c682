// Which due deliveries are attempted next. Rules of D65: at most `perTargetInFlight` of a workspace go to one host at
// once, and workspaces take turns, so that a receiver that hangs delays nobody else's deliveries.
//
// The cost follows what may be claimed and what is in flight, never what is pending or how long a backlog is. What has
// fallen due is marked `ready`, once for each attempt; then the claim hops over the index `delivery_ready` from
// workspace to workspace and, within each, from host to host. Each hop costs the same whatever lies between, and each
// host offers only as many rows as it may still have in flight. Hops begin at a random place, so that of more
// workspaces or hosts than one claim needs each has its turn.
//
// Two claims for one workspace at once would both see the same number in flight, so a claim locks its workspaces (in
// one order, and nobody else's rows: what somebody cancels or records is left out, so no deadlock has a part here). A
// dispatcher that is stopped right there holds up its workspaces for 2 s; then the server ends its transaction.
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
  /** Counts from 1 in the present retry schedule, `attempt` over all. */
  readonly scheduledAttempt: number
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
  /** The claim before this one had expired: its dispatcher died, or was cut off from the database. */
  readonly takenOver: boolean
}

/** Deliveries that one transaction marks at most, so that it is short when an hour's retries fall due together. */
const markedMax = 1_000
/**
 * Transactions of one claim, while each finds as many to mark as it may, or others take what it saw and there is more:
 * who goes away with less than was due sleeps until the next nudge.
 */
const roundsMax = 50
/** Milliseconds after which no further one begins: an attempt has to begin soon after its claim. */
const roundsMs = 2_000
/** Seen at least, the longest due first: a random start alone would hardly ever hit one that is next to another. */
const hopsMin = 4
/** Workspaces that one transaction locks at most: a server has room for some 6,400 locks in all. */
const workspacesMax = 256

/** Claims due deliveries and counts the attempt that begins. `db` must be the pool: this begins transactions. */
export async function claimDueDeliveries(db: Db, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const claimed: ClaimedDelivery[] = []
  const untilMs = performance.now() + roundsMs
  for (let rounds = 0; rounds < roundsMax && claimed.length < options.limit; rounds++) {
    const left = { ...options, limit: options.limit - claimed.length }
    // What earlier rounds have claimed is made now: forgotten, it would wait until its claim lapses.
    const { deliveries, sawAll } = await claimOnce(db, left).catch((error: unknown) => {
      if (claimed.length === 0) throw error
      return { deliveries: [], sawAll: true }
    })
    claimed.push(...deliveries)
    if (sawAll || performance.now() > untilMs) break
  }
  return claimed
}

type Round = { readonly deliveries: readonly ClaimedDelivery[]; readonly sawAll: boolean }

const claimOnce = (db: Db, options: ClaimOptions): Promise<Round> =>
  db.transaction().execute(async (tx) => {
    await setPlanner(tx)
    const { rows } = await lockStatement(options).execute(tx)
    const ids = rows.flatMap(({ id }) => id ?? [])
    // In a statement of its own, which sees what those have claimed that had the locks before.
    const deliveries = ids.length === 0 ? [] : (await claimStatement(ids, options).execute(tx)).rows
    return { deliveries, sawAll: rows.every(({ sawAll }) => sawAll) }
  })

/**
 * For this transaction: a stopped process is given up, and the planner takes the indexes in their order. By itself it
 * goes by statistics, which for a queue are from another time: told that nothing is due it read all that was.
 */
const setPlanner = (tx: Db) =>
  sql`
      select set_config('idle_in_transaction_session_timeout', '2000', true), set_config('jit', 'off', true),
             set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
             set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
             set_config('enable_sort', 'off', true)`.execute(tx)

/** Until when a pending delivery can be claimed by nobody: the expression of its indexes. */
const from = sql`coalesce(claimed_until, due_at)`
const ready = sql`status = 'pending' and ready`

/** One row without an id when there is no workspace. */
type Workspace = { readonly id: string | null; readonly sawAll: boolean }

/**
 * Marks what has fallen due, and locks workspaces that have something ready: as many as this claim has slots, beside
 * those that have something in flight, since each of those may have reached a bound.
 */
const lockStatement = ({ limit, perWorkspaceInFlight }: ClaimOptions) => sql<Workspace>`
    with recursive fallen as materialized (
      select id from delivery where status = 'pending' and not ready and ${from} <= now()
       order by ${from} limit ${markedMax} for update skip locked
    ), marked as (
      update delivery d set ready = true from fallen where d.id = fallen.id returning d.workspace_id
    ), in_flight as materialized (
      select workspace_id, count(*) as busy from delivery where claim is not null and claimed_until > now()
       group by workspace_id
    ), bounds as materialized (
      select gen_random_uuid() as start, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid as last,
             greatest(${limit}::int, ${hopsMin}) + (select count(*) from in_flight) as hops
    ), hop as (
      select start as workspace_id, 0 as lap, 0 as n from bounds
      union all
      select next.workspace_id, next.lap, h.n + 1
        from hop h cross join bounds b cross join lateral (
          (select workspace_id, h.lap from delivery
            where ${ready} and workspace_id > h.workspace_id
              and workspace_id <= case h.lap when 0 then b.last else b.start end
            order by workspace_id limit 1)
          union all
          (select workspace_id, 1 from delivery where ${ready} and h.lap = 0 and workspace_id <= b.start
            order by workspace_id limit 1)
          order by lap limit 1) next
       where h.n < b.hops
    ), open as materialized (
      select id from (select workspace_id as id from hop where n > 0 union select workspace_id from marked) seen
        left join in_flight f on f.workspace_id = seen.id
       where coalesce(f.busy, 0) < ${perWorkspaceInFlight}::int
       order by (f.busy is not null), random() limit ${workspacesMax}
    ), queue as materialized (
      select id, hashtext(id::text) as lock from open order by lock
    )
    select id, "sawAll", pg_advisory_xact_lock(hashtext('matte.delivery.claim'), lock)
      from (select (select count(*) from marked) < ${markedMax} and max(n) < (select hops from bounds) as "sawAll"
              from hop) s left join queue on true`

const claimStatement = (workspaceIds: readonly string[], options: ClaimOptions) => {
  const { limit, claimMs, perTargetInFlight, perWorkspaceInFlight } = options
  const target = sql`hashtext(target_host)`
  return sql<ClaimedDelivery>`
    with recursive in_flight as materialized (
      select workspace_id, ${target} as target, count(*) as busy
        from delivery where claim is not null and claimed_until > now() and workspace_id = any(${workspaceIds}::uuid[])
       group by workspace_id, ${target}
    ), taking as materialized (
      select w.id as workspace_id, coalesce(sum(f.busy), 0) as busy,
             count(f.target) + greatest(${hopsMin},
               least(${limit}::int, ${perWorkspaceInFlight}::int - coalesce(sum(f.busy), 0))) as hops,
             (random() * 4294967295 - 2147483648)::bigint::int as start
        from unnest(${workspaceIds}::uuid[]) as w (id) left join in_flight f on f.workspace_id = w.id
       group by w.id
    ), hop as (
      select workspace_id, start as target, 0 as lap, 0 as n from taking
      union all
      select h.workspace_id, next.target, next.lap, h.n + 1
        from hop h join taking w using (workspace_id) cross join lateral (
          (select ${target} as target, h.lap from delivery
            where ${ready} and workspace_id = h.workspace_id and ${target} > h.target
              and ${target} <= case h.lap when 0 then 2147483647 else w.start end
            order by ${target} limit 1)
          union all
          (select ${target}, 1 from delivery
            where ${ready} and workspace_id = h.workspace_id and h.lap = 0 and ${target} <= w.start
            order by ${target} limit 1)
          order by lap limit 1) next
       where h.n < w.hops
    ), candidate as (
      select due.id, due.since,
             w.busy + row_number() over (partition by workspace_id order by due.since, due.id) as turn
        from hop h join taking w using (workspace_id) left join in_flight f using (workspace_id, target)
       cross join lateral (
          select d.id, ${from} as since from delivery d
           where ${ready} and d.workspace_id = h.workspace_id and ${target} = h.target and ${from} <= now()
           order by ${from}
           limit greatest(0, ${perTargetInFlight}::int - coalesce(f.busy, 0))) due
       where h.n > 0
    ), chosen as materialized (
      select id from candidate where turn <= ${perWorkspaceInFlight}::int order by turn, since limit ${limit}::int
    ), picked as materialized (
      -- Judged again once locked. Without asking for "ready", or the planner might look for the id in its indexes.
      select d.id, d.claim is not null as lapsed from chosen join delivery d using (id)
       where d.status = 'pending' and ${from} <= now() for update of d skip locked
    )
    update delivery d
       set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
           -- Not from the transaction's start, which lies before the locks were waited for.
           claimed_until = clock_timestamp() + ${claimMs} * interval '1 ms'
      from picked where d.id = picked.id
    returning d.id, d.claim, d.attempt, d.attempt - d.attempts_before as "scheduledAttempt",
              d.workspace_id as "workspaceId", d.task_id as "taskId", d.event,
              d.endpoint_id as "endpointId", d.target_url as "targetUrl", d.target_host as "targetHost", d.body,
              d.traceparent, (extract(epoch from clock_timestamp()) * 1000)::float8 as "claimedAtMs",
              picked.lapsed as "takenOver"`
}

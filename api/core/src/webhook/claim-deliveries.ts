// Claims due deliveries (D65): at most `perTargetInFlight` of a workspace to one host at once, and workspaces in turn,
// so a hanging receiver delays only its own deliveries.
//
// The cost depends on what can be claimed, not on the backlog. Due rows are marked `ready`, once per attempt. The claim
// then skips through the index `delivery_ready` from workspace to workspace, and within each from host to host; each
// host yields only as many rows as it may have in flight. Each scan starts at a random key, so all get their turn.
//
// Concurrent claims for one workspace would count the same deliveries in flight, so a claim takes an advisory lock per
// workspace, in one order. A dispatcher suspended while it holds them blocks these workspaces for 2 s, until the server
// ends its transaction. If a dispatcher dies, its claims lapse and the same attempts are claimed again.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

type ClaimOptions = {
  /** Maximum number of rows: the free slots. */
  readonly limit: number
  /** Lifetime of the claim; longer than an attempt. */
  readonly claimMs: number
  /** Maximum in flight per workspace and target host, over all dispatchers. */
  readonly perTargetInFlight: number
  /** Maximum in flight per workspace, so hanging hosts of one owner leave slots for others. */
  readonly perWorkspaceInFlight: number
}

export type ClaimRef = { readonly id: string; readonly claim: string; readonly attempt: number }

export type ClaimedDelivery = ClaimRef & {
  /** Attempt number in the current retry schedule; `attempt` counts over all. */
  readonly scheduledAttempt: number
  readonly workspaceId: string
  readonly taskId: string | null
  readonly event: string
  /** Requested by the owner of the endpoint. */
  readonly sample: boolean
  /** Null for a callback URL. */
  readonly endpointId: string | null
  /** For a callback URL; an endpoint's current target is read before sending. */
  readonly targetUrl: string
  readonly targetHost: string
  readonly body: string
  readonly traceparent: string | null
  /** Database clock at the claim in ms since the epoch; base of the signature's timestamp. */
  readonly claimedAtMs: number
  /** Whether an earlier claim expired, because its dispatcher died or lost the database. */
  readonly takenOver: boolean
}

/** Maximum rows marked per transaction, so it stays short when a whole hour of retries is due. */
const markedMax = 1_000
/** Maximum transactions per claim. More follow while each fills its bound, or other claims take what it saw. */
const roundsMax = 50
/** Milliseconds after which no further transaction begins: an attempt must begin soon after its claim. */
const roundsMs = 2_000
/** Minimum number of scan steps: a random start alone rarely hits a workspace next to another. */
const hopsMin = 4
/** Maximum advisory locks per transaction; a server has about 6,400 locks in total. */
const workspacesMax = 256

/** Claims due deliveries and counts the attempt. Opens transactions, so `db` must be the pool. */
export async function claimDueDeliveries(db: Db, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const claimed: ClaimedDelivery[] = []
  const untilMs = performance.now() + roundsMs
  for (let rounds = 0; rounds < roundsMax && claimed.length < options.limit; rounds++) {
    const left = { ...options, limit: options.limit - claimed.length }
    // Deliveries claimed in earlier rounds must be attempted, so a later error does not lose them.
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
    // A separate statement, which sees the claims of earlier lock holders.
    const deliveries = ids.length === 0 ? [] : (await claimStatement(ids, options).execute(tx)).rows
    return { deliveries, sawAll: rows.every(({ sawAll }) => sawAll) }
  })

/**
 * Ends a suspended process's transaction, and makes the planner use the indexes. By default it follows statistics,
 * which are out of date for a queue: believing that nothing was due, it read everything. With these settings the plan
 * does not depend on the values; to plan each claim took 0.9 ms, twice its execution.
 */
const setPlanner = (tx: Db) =>
  sql`
      select set_config('idle_in_transaction_session_timeout', '2000', true), set_config('jit', 'off', true),
             set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
             set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
             set_config('enable_sort', 'off', true),
             set_config('plan_cache_mode', 'force_generic_plan', true)`.execute(tx)

/** Time from which a pending delivery can be claimed: the expression of its indexes. */
const from = sql`coalesce(claimed_until, due_at)`
const ready = sql`status = 'pending' and ready`

/** One row without id if no workspace has ready deliveries. */
type Workspace = { readonly id: string | null; readonly sawAll: boolean }

/**
 * Marks due rows, and locks workspaces that have ready ones: as many as free slots, plus those with deliveries in
 * flight, since these may have reached a bound.
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
      -- Checked again under the lock, without "ready": the planner might look up the id in the indexes of ready rows.
      select d.id, d.claim is not null as lapsed from chosen join delivery d using (id)
       where d.status = 'pending' and ${from} <= now() for update of d skip locked
    )
    update delivery d
       set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
           -- Not from the start of the transaction, which has waited for locks since.
           claimed_until = clock_timestamp() + ${claimMs} * interval '1 ms'
      from picked where d.id = picked.id
    returning d.id, d.claim, d.attempt, d.attempt - d.attempts_before as "scheduledAttempt",
              d.workspace_id as "workspaceId", d.task_id as "taskId", d.event, d.sample,
              d.endpoint_id as "endpointId", d.target_url as "targetUrl", d.target_host as "targetHost", d.body,
              d.traceparent, (extract(epoch from clock_timestamp()) * 1000)::float8 as "claimedAtMs",
              picked.lapsed as "takenOver"`
}

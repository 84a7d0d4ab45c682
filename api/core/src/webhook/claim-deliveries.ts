// Claims due deliveries (D65): at most `perTargetInFlight` of a workspace to one host at once, and workspaces in turn,
// so a hanging receiver delays only its own deliveries.
//
// The cost depends on what can be claimed, not on the backlog. Due rows are marked `ready`, once per attempt. The claim
// then skips through the index `delivery_ready` from workspace to workspace, and within each from host to host; each
// host yields only as many rows as it may have in flight. Each scan starts at a random key, so all get their turn.
//
// Concurrent claims for one workspace would count the same deliveries in flight, so a claim takes an advisory lock per
// workspace, in one order, until its commit. The function (migration 0050) contains both statements, so no lock waits
// for this process. If a dispatcher dies, its claims lapse and the same attempts are claimed again.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { type SealedSecrets, sealedSecrets } from '../workspace/callback-secret.ts'

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
} & SealedSecrets

export type ClaimedDeliveries = {
  readonly deliveries: readonly ClaimedDelivery[]
  /** Whether others are due, which no claim has taken. */
  readonly waits: boolean
}

/** Maximum calls per claim. More follow while each fills its bound, or other claims take what it saw. */
const roundsMax = 50
/** Milliseconds after which no further call begins: an attempt must begin soon after its claim. */
const roundsMs = 2_000

/** Claims due deliveries and counts the attempt. */
export async function claimDueDeliveries(db: Db, options: ClaimOptions): Promise<ClaimedDeliveries> {
  const claimed: ClaimedDelivery[] = []
  const untilMs = performance.now() + roundsMs
  let waits = true
  for (let rounds = 0; rounds < roundsMax && claimed.length < options.limit; rounds++) {
    const left = { ...options, limit: options.limit - claimed.length }
    // Deliveries claimed in earlier rounds must be attempted, so a later error does not lose them.
    const round = await claimOnce(db, left).catch((error: unknown) => {
      if (claimed.length === 0) throw error
      return { deliveries: [], sawAll: true, waits: true }
    })
    claimed.push(...round.deliveries)
    waits = round.waits
    if (round.sawAll || performance.now() > untilMs) break
  }
  return { deliveries: claimed, waits }
}

type Round = ClaimedDeliveries & { readonly sawAll: boolean }

/** One row per delivery, and one with the state. */
type State = { readonly id: null } & Omit<Round, 'deliveries'>
type Row = ClaimedDelivery | State

const isState = (row: Row): row is State => row.id === null
const isDelivery = (row: Row): row is ClaimedDelivery => row.id !== null

/**
 * An endpoint's secrets are read with its target. The limit makes the planner look up workspaces by key: it expects a
 * thousand rows of a function, and would read the whole table.
 */
async function claimOnce(db: Db, options: ClaimOptions): Promise<Round> {
  const { limit, claimMs, perTargetInFlight, perWorkspaceInFlight } = options
  const { rows } = await sql<Row>`
    select (d).id, (d).claim, (d).attempt, (d).attempt - (d).attempts_before as "scheduledAttempt",
           (d).workspace_id as "workspaceId", (d).task_id as "taskId", (d).event, (d).sample,
           (d).endpoint_id as "endpointId", (d).target_url as "targetUrl", (d).target_host as "targetHost", (d).body,
           (d).traceparent, (extract(epoch from clock_timestamp()) * 1000)::float8 as "claimedAtMs",
           lapsed as "takenOver", ${sql.join(sealedSecrets)}, saw_all as "sawAll", waits
      from claim_deliveries(${limit}::int, ${claimMs}::int, ${perTargetInFlight}::int, ${perWorkspaceInFlight}::int)
             as c (d, lapsed, saw_all, waits)
      left join lateral (
        select * from workspace w where w.id = (d).workspace_id and (d).endpoint_id is null limit 1
      ) workspace on true`.execute(db)
  const deliveries = rows.filter(isDelivery)
  const state = rows.find(isState)
  return { deliveries, sawAll: state?.sawAll ?? true, waits: state?.waits ?? true }
}

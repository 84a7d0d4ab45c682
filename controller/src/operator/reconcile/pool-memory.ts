// State of a pool between two passes of a leader. All of it can be lost: a new leader starts from the status and keeps
// running pods for one stabilization window.

import type { KubeError } from '../kube/client.ts'
import type { ElapsedTimes } from '../pool/elapsed-times.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { readTimetable, type Timetable } from '../scale/schedule.ts'
import type { ScaleMemory } from '../scale/stabilization.ts'

export type PoolMemory = {
  /** A later pool of the same name starts with an empty memory. */
  readonly uid: string | undefined
  /** Monotonic time of this leader's first pass over the pool. */
  ledSinceMs: number | undefined
  scale: ScaleMemory | undefined
  slotsPerPod: number | undefined
  /** Start-up seconds of the last pods, from desired to ready, newest last. */
  starts: number[]
  /** Monotonic time of the last status write. */
  statusAtMs: number
  /** Deployments that the API server refused to create. */
  refusals: Map<string, Refusal>
  refusedChanges: Map<string, RefusedChange>
  /** Objects without the fencing token of this term that do not close the pool. */
  refusedTokens: readonly RefusedToken[]
  /** State last applied over each object's version, so none is applied twice. */
  restored: Map<string, string>
  /** The definition lacks fields of the status. */
  definitionIsOlder: boolean
  readonly elapsed: ElapsedTimes
  timetable: { readonly of: PoolSpec['scaling']['schedules']; readonly table: Timetable } | undefined
}

/** Starts whose median is used, so a single slow start has no effect. */
const startsMax = 15

export function newMemory({ metadata, status }: TritonPool): PoolMemory {
  return {
    uid: metadata.uid,
    ledSinceMs: undefined,
    scale: undefined,
    slotsPerPod: status?.slotsPerPod,
    starts: status?.startSeconds === undefined ? [] : [status.startSeconds],
    statusAtMs: Number.NEGATIVE_INFINITY,
    refusals: new Map(),
    refusedChanges: new Map(),
    refusedTokens: [],
    restored: new Map(),
    definitionIsOlder: false,
    elapsed: new Map(),
    timetable: undefined,
  }
}

export function rememberStart(memory: PoolMemory | undefined, seconds: number): void {
  if (memory) memory.starts = [...memory.starts, seconds].slice(-startsMax)
}

export function startSecondsOf({ starts }: PoolMemory): number | undefined {
  const sorted = starts.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Parses schedules once per version of the spec. */
export function timetableOf(memory: PoolMemory, { spec }: TritonPool): Timetable {
  const { schedules } = spec.scaling
  if (memory.timetable === undefined || memory.timetable.of !== schedules) {
    memory.timetable = { of: schedules, table: readTimetable(schedules ?? []) }
  }
  return memory.timetable.table
}

export type Refusal = {
  /** Undefined if it concerns the whole pool. */
  readonly revision: string | undefined
  readonly reason: string
  readonly message: string
  /** Monotonic time until which the step is skipped. */
  readonly untilMs: number
}

/** Any refusal except the creation of a Deployment. */
export type RefusedChange = Refusal & {
  /** Completes "Kubernetes refuses to …". */
  readonly what: string
  readonly blocking: boolean
  readonly ofPods: boolean
  readonly timedOut: boolean
}

/** An object whose fencing token Kubernetes refuses or does not confirm in time. */
export type RefusedToken = {
  readonly pool: string
  readonly object: string
  readonly revision: string | undefined
  readonly error: KubeError
  /** Whether the object is not fenced at all, so its pool is not changed. */
  readonly closesPool: boolean
}

type Refused = {
  readonly refusedChanges: ReadonlyMap<string, RefusedChange>
  readonly refusedTokens: readonly RefusedToken[]
}

/** Refused steps, and refused fencing tokens of objects without a planned step. */
export function refusedChangesOf({ refusedChanges, refusedTokens }: Refused): RefusedChange[] {
  const changes = [...refusedChanges.values()]
  const tokens = refusedTokens.map(({ object, revision, error }): RefusedChange => {
    const { reason, message } = error
    const harmless = { untilMs: 0, blocking: false, ofPods: false }
    return { ...harmless, revision, reason, message, what: `update ${object}`, timedOut: error.isTimeout }
  })
  return [...changes, ...tokens.filter((token) => !changes.some(({ what }) => what === token.what))]
}

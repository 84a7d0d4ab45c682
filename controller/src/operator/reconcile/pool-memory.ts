// What a leader remembers about a pool between two reconcile passes. All of it can be lost: a new leader starts from
// the status, and keeps the pods it finds for one stabilization window.
import type { ElapsedTimes } from '../pool/elapsed-times.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { readTimetable, type Timetable } from '../scale/schedule.ts'
import type { ScaleMemory } from '../scale/stabilization.ts'
import type { Refusal, RefusedChange, RefusedToken } from './refused/refused-change.ts'

export type PoolMemory = {
  /** Another pool may have the name later, and starts with an empty memory. */
  readonly uid: string | undefined
  /** Time of the first pass of this leader over the pool, by the monotonic clock; undefined before it. */
  ledSinceMs: number | undefined
  /** Undefined before the first decision. */
  scale: ScaleMemory | undefined
  slotsPerPod: number | undefined
  /** Start-up times of the last pods, from desired to ready, in seconds; newest last. */
  starts: number[]
  /** When the status was last written, by the monotonic clock. */
  statusAtMs: number
  /** Deployments that the API server refused to create. */
  refusals: Map<string, Refusal>
  /** What else it refused to create, change or delete. */
  refusedChanges: Map<string, RefusedChange>
  /** Objects of the pool that have no fencing token of this term, and do not close it. */
  refusedTokens: readonly RefusedToken[]
  /** Which state was applied over which version of an object, by kind and name, so that none is applied twice. */
  restored: Map<string, string>
  /** The API server refused a status for fields that the definition does not declare. */
  definitionIsOlder: boolean
  /** The times of `status.rollout`, by the monotonic clock. */
  readonly elapsed: ElapsedTimes
  timetable: { readonly of: PoolSpec['scaling']['schedules']; readonly table: Timetable } | undefined
}

/** The median of this many starts is used: one pod that waited an hour for its image says little about the next. */
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

/** The median of the last starts; undefined before the first. */
export function startSecondsOf({ starts }: PoolMemory): number | undefined {
  const sorted = starts.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Schedules are parsed once for each version of them in the spec. */
export function timetableOf(memory: PoolMemory, { spec }: TritonPool): Timetable {
  const { schedules } = spec.scaling
  if (memory.timetable === undefined || memory.timetable.of !== schedules) {
    memory.timetable = { of: schedules, table: readTimetable(schedules ?? []) }
  }
  return memory.timetable.table
}

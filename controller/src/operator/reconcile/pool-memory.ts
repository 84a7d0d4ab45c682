// What a leader remembers of a pool between two looks. Everything can be found again: a new leader begins with what
// status says, and holds the pods it finds for as long as the rule holds any.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { readTimetable, type Timetable } from '../scale/schedule.ts'
import type { ScaleMemory } from '../scale/stabilization.ts'

export type Refusal = {
  /** Undefined: it belongs to the pool as a whole. */
  readonly revision: string | undefined
  readonly reason: string
  readonly message: string
  /** Until when it is not asked for again, by the monotonic clock. */
  readonly untilMs: number
}

/** Of anything but the making of a Deployment. */
export type RefusedChange = Refusal & {
  /** What we would do, as the end of "Kubernetes refuses to". */
  readonly what: string
  /** Keeps pods from being made, or from being found. */
  readonly blocking: boolean
  /** It is pods that are not made. */
  readonly ofPods: boolean
}

export type PoolMemory = {
  /** Undefined before the first decision. */
  scale: ScaleMemory | undefined
  slotsPerPod: number | undefined
  /** Desired to ready, of the last pods, in seconds; newest last. */
  starts: number[]
  /** When the status was last written, by the monotonic clock. */
  statusAtMs: number
  /** Deployments that the API server would not make. */
  refusals: Map<string, Refusal>
  /** What else it would not make, change or delete. */
  refusedChanges: Map<string, RefusedChange>
  /** What was laid over which version of an object, by kind and name. If it still differs, once was enough. */
  restored: Map<string, string>
  timetable: { readonly of: PoolSpec['scaling']['schedules']; readonly table: Timetable } | undefined
}

/** The usual one of so many starts: one that waited an hour for its image says little of the next. */
const startsMax = 15

export function newMemory({ status }: TritonPool): PoolMemory {
  return {
    scale: undefined,
    slotsPerPod: status?.slotsPerPod,
    starts: status?.startSeconds === undefined ? [] : [status.startSeconds],
    statusAtMs: Number.NEGATIVE_INFINITY,
    refusals: new Map(),
    refusedChanges: new Map(),
    restored: new Map(),
    timetable: undefined,
  }
}

export function rememberStart(memory: PoolMemory, seconds: number): void {
  memory.starts = [...memory.starts, seconds].slice(-startsMax)
}

/** The median of the last starts; undefined before the first. */
export function startSecondsOf({ starts }: PoolMemory): number | undefined {
  const sorted = starts.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Patterns are read once for as long as the spec has them. */
export function timetableOf(memory: PoolMemory, { spec }: TritonPool): Timetable {
  const { schedules } = spec.scaling
  if (memory.timetable === undefined || memory.timetable.of !== schedules) {
    memory.timetable = { of: schedules, table: readTimetable(schedules ?? []) }
  }
  return memory.timetable.table
}

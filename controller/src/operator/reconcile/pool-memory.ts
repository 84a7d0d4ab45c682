// What a leader remembers about a pool between two reconcile passes. All of it can be lost: a new leader starts from
// the status, and keeps the pods it finds for one stabilization window.
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { readTimetable, type Timetable } from '../scale/schedule.ts'
import type { ScaleMemory } from '../scale/stabilization.ts'

export type Refusal = {
  /** Undefined: it belongs to the pool as a whole. */
  readonly revision: string | undefined
  readonly reason: string
  readonly message: string
  /** Not tried again before this time of the monotonic clock. */
  readonly untilMs: number
}

/** A refusal of anything but the creation of a Deployment. */
type RefusedChange = Refusal & {
  /** What was refused, as the end of a sentence that begins with "Kubernetes refuses to". */
  readonly what: string
  /** Keeps pods from being created, or requests from reaching them. */
  readonly blocking: boolean
  /** It is pods that are not created. */
  readonly ofPods: boolean
}

export type PoolMemory = {
  /** Another pool may have the name later, and starts with an empty memory. */
  readonly uid: string | undefined
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
  /** Which state was applied over which version of an object, by kind and name, so that none is applied twice. */
  restored: Map<string, string>
  /** The API server refused a status for fields that the definition does not declare. */
  definitionIsOlder: boolean
  timetable: { readonly of: PoolSpec['scaling']['schedules']; readonly table: Timetable } | undefined
}

/** The median of this many starts is used: one pod that waited an hour for its image says little about the next. */
const startsMax = 15

export function newMemory({ metadata, status }: TritonPool): PoolMemory {
  return {
    uid: metadata.uid,
    scale: undefined,
    slotsPerPod: status?.slotsPerPod,
    starts: status?.startSeconds === undefined ? [] : [status.startSeconds],
    statusAtMs: Number.NEGATIVE_INFINITY,
    refusals: new Map(),
    refusedChanges: new Map(),
    restored: new Map(),
    definitionIsOlder: false,
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

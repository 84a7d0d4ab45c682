// What each revision did in the present step of a rollout.
import type { TritonPool } from '../../pool/triton-pool.ts'
import type { RequestCounts } from '../../rollout/gate.ts'
import type { DemandReading } from './demand-reader.ts'

type Reading = Pick<DemandReading, 'atMs' | 'demand'>

/**
 * Empty when the reading is older than the step, for instance during an outage of the database: its counts are of
 * another step. Status has the start of the step in whole seconds, so the second that it names does not count yet.
 * `elapsed`: seconds since a time in status, at `nowMs`.
 */
export function countsByRevision(
  { status }: Pick<TritonPool, 'status'>,
  reading: Reading | undefined,
  { elapsed, nowMs }: { readonly elapsed: (time: string) => number; readonly nowMs: number },
): ReadonlyMap<string, RequestCounts> {
  const since = status?.rollout?.since
  if (reading === undefined || since === undefined) return new Map()
  if (elapsed(since) - (nowMs - reading.atMs) / 1000 < 1) return new Map()
  return new Map(reading.demand.perRevision.map((counts) => [counts.revision, counts]))
}

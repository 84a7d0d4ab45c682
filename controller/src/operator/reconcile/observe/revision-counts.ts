// What each revision did in the present step of a rollout.
import type { TritonPool } from '../../pool/triton-pool.ts'
import type { Figures } from '../../rollout/gate.ts'
import type { DemandReading } from './demand-reader.ts'

/**
 * Empty when the reading is older than the step, for instance during an outage of the database: its counts are of
 * another step. Status has the start of the step in whole seconds, so the second that it names does not count yet.
 */
export function countsByRevision(
  { status }: Pick<TritonPool, 'status'>,
  reading: Pick<DemandReading, 'at' | 'demand'> | undefined,
): ReadonlyMap<string, Figures> {
  const since = status?.rollout?.since
  if (reading === undefined || since === undefined || reading.at.getTime() < Date.parse(since) + 1_000) return new Map()
  return new Map(reading.demand.perRevision.map((counts) => [counts.revision, counts]))
}

import type { TritonPool } from '../../pool/triton-pool.ts'
import type { RequestCounts } from '../../rollout/gate.ts'
import type { DemandReading } from './demand-reader.ts'

/**
 * What each revision did since the present step of the rollout began. Nothing, when the reading is older than the step, as
 * while the database is away: its figures are those of another step. The step began somewhere in the second that status has.
 */
export function figuresOf(
  { status }: Pick<TritonPool, 'status'>,
  reading: Pick<DemandReading, 'at' | 'demand'> | undefined,
): ReadonlyMap<string, RequestCounts> {
  const since = status?.rollout?.since
  if (reading === undefined || since === undefined || reading.at.getTime() < Date.parse(since) + 1_000) return new Map()
  return new Map(reading.demand.perRevision.map((figures) => [figures.revision, figures]))
}

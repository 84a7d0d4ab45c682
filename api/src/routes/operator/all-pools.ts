import type { Db } from '@matte/core/db/database'
import { listReports } from '@matte/core/pool/pool-queries'
import { listUnreportedPools } from '@matte/core/pool/unreported-pools'
import type { Plans } from '@matte/core/workspace/plan'
import { toReportedPoolView, toUnreportedPoolView } from '../../schemas/operator.ts'

/** Reported pools, then those that only workers know. */
export async function listAllPools(db: Db, plans: Plans) {
  const reported = await listReports(db)
  const unreported = await listUnreportedPools(db, plans, new Set(reported.map(({ pool }) => pool)))
  return [...reported.map(toReportedPoolView), ...unreported.map(toUnreportedPoolView)]
}

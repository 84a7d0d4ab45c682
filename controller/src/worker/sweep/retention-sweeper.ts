import type { Db } from '@matte/core/db/database'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Bucket } from '@matte/core/storage/bucket'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'

export type RetentionSweeperDeps = {
  readonly db: Db
  readonly bucket: Pick<Bucket, 'delete' | 'list'>
  readonly plans: Plans
  readonly everyMs: number
  readonly logger: Logger
}

/** Runs in every replica and needs no leader: rows are locked, objects are deleted twice at worst. */
export const retentionSweeper = ({ db, bucket, plans, everyMs, logger }: RetentionSweeperDeps): Loop =>
  loop({
    name: 'retention-sweeper',
    everyMs,
    logger,
    run: (signal) => sweepRetention({ db, bucket, plans }, { signal }),
  })

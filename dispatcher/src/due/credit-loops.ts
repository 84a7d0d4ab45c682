// Loops for due credit work: low balances, expiry warnings and monthly grants. Each item has a separate transaction
// under its workspace's lock, so replicas can run the loops at the same time.
import { announceLowBalances } from '@matte/core/credit/due/announce-low-balance'
import { grantDuePlans } from '@matte/core/credit/due/grant-plans'
import { warnOfExpiry } from '@matte/core/credit/due/warn-of-expiry'
import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type CreditLoopDeps = {
  readonly db: Db
  readonly plans: Plans
  /** Wakes the loop that sends webhooks. */
  readonly wake: () => void
  readonly logger: Logger
}

/** A workspace that runs out of credits is notified at once; the rest can wait. */
const lowBalanceEveryMs = 1_000
const slowEveryMs = 30_000

export const creditLoops = ({ db, plans, wake, logger }: CreditLoopDeps): readonly Loop[] => [
  dueParts({
    name: 'low-balances',
    everyMs: lowBalanceEveryMs,
    parts: { low_balances: (pass) => announceLowBalances(db, pass) },
    wake,
    logger,
  }),
  dueParts({
    name: 'credits-due',
    everyMs: slowEveryMs,
    parts: {
      expiry_warnings: (pass) => warnOfExpiry(db, pass),
      plan_credits: (pass) => grantDuePlans(db, plans, pass),
    },
    wake,
    logger,
  }),
]

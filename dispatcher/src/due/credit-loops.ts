// What falls due of credits. Each pass reads by an index what is due, at most a hundred rows of it, and does each in a
// transaction of its own under its workspace's lock: replicas may run at once, and one that dies leaves the rest to the
// others. Idle, a pass is a look-up in an index without entries.
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
  /** Deliveries were written: send them now. */
  readonly wake: () => void
  readonly logger: Logger
}

/** Somebody who runs out of credits wants to know at once; nobody waits for the others. */
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

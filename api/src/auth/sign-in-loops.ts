// What signing in leaves to be done beside the requests: what people ask for without signing in, and cleaning up.
import type { Db } from '@matte/core/db/database'
import { doAccountRequests, type RequestDeps } from '@matte/core/identity/account/do-account-requests'
import { cleanSignIn } from '@matte/core/identity/clean-sign-in'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'

/** For requests of a replica that has died; those of this one wake it. */
const requestsEveryMs = 1_000
const cleanEveryMs = 60_000

export function accountRequests(deps: Omit<RequestDeps, 'onError'>, logger: Logger): Loop {
  const onError = (error: unknown): void => logger.error({ err: error }, 'account request failed')
  const run = (signal: AbortSignal) => doAccountRequests({ ...deps, onError }, signal)
  return loop({ name: 'account-requests', everyMs: requestsEveryMs, run, logger })
}

export const signInCleaner = (db: Db, logger: Logger): Service =>
  loop({ name: 'sign-in-cleaner', everyMs: cleanEveryMs, run: () => cleanSignIn(db), logger })

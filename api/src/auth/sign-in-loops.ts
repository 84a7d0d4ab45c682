// What signing in leaves to be done beside the requests: what people ask for without signing in, and cleaning up.
import type { Db } from '@matte/core/db/database'
import { doAccountRequests } from '@matte/core/identity/account/do-account-requests'
import { keyAddresses } from '@matte/core/identity/account/key-addresses'
import { isInvited } from '@matte/core/identity/account/operator-queries'
import { cleanSignIn } from '@matte/core/identity/clean-sign-in'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { Registration } from '../settings/accounts.ts'

/** For requests of a replica that has died; those of this one wake it. */
const requestsEveryMs = 1_000
const cleanEveryMs = 60_000
/** During an upgrade, an account that the older release made cannot log in for this long. */
const keysEveryMs = 2_000

type Deps = {
  readonly masterKeys: MasterKeys
  readonly appUrl: string
  readonly registration: Registration
  readonly verificationMailsPerMinute: number
}

export function accountRequests(db: Db, settings: Deps, logger: Logger): Loop {
  const { masterKeys, appUrl, registration, verificationMailsPerMinute: verificationsPerMinute } = settings
  const mayRegister = registration === 'open' ? async () => true : isInvited
  const deps = { db, masterKeys, appUrl, mayRegister, verificationsPerMinute }
  const onError = (error: unknown): void => logger.error({ err: error }, 'account request failed')
  const run = (signal: AbortSignal) => doAccountRequests({ ...deps, onError }, signal)
  return loop({ name: 'account-requests', everyMs: requestsEveryMs, run, logger })
}

export const signInCleaner = (db: Db, logger: Logger): Service =>
  loop({ name: 'sign-in-cleaner', everyMs: cleanEveryMs, run: () => cleanSignIn(db), logger })

export const addressKeys = (db: Db, logger: Logger): Service =>
  loop({ name: 'address-keys', everyMs: keysEveryMs, run: () => keyAddresses(db), logger })

// Background work for sign-in: account requests and cleaning up.

import type { Db } from '@matte/core/db/database'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Service } from '@matte/core/runtime/service'
import { fillAddressKeys } from '@matte/people/identity/account/address-keys'
import { isInvited } from '@matte/people/identity/account/operator-actions'
import { processAccountRequests } from '@matte/people/identity/account/process-account-requests'
import { cleanSignIn } from '@matte/people/identity/login/clean-sign-in'
import type { Logger } from 'pino'
import type { Registration } from '../config.ts'

const requestsEveryMs = 1_000
const cleanEveryMs = 60_000
/** During an upgrade, accounts created by the older release cannot log in for this long. */
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
  const run = (signal: AbortSignal) => processAccountRequests({ ...deps, onError }, signal)
  return loop({ name: 'account-requests', everyMs: requestsEveryMs, run, logger })
}

export const signInCleaner = (db: Db, logger: Logger): Service =>
  loop({ name: 'sign-in-cleaner', everyMs: cleanEveryMs, run: () => cleanSignIn(db), logger })

export const addressKeys = (db: Db, logger: Logger): Service =>
  loop({ name: 'address-keys', everyMs: keysEveryMs, run: () => fillAddressKeys(db), logger })

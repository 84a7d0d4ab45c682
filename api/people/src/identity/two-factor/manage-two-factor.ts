// Switches two-factor login on and off. The callers have checked the password.

import { randomUUID } from 'node:crypto'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { type MasterKeys, seal, unseal } from '@matte/core/runtime/seal'
import { publishPersonalEvent } from '../../notification/publish-events.ts'
import { replaceRecoveryCodes } from './recovery-code.ts'
import { codeRefused, takeCode } from './take-code.ts'
import { matchStep, newSeed, otpauthUrl } from './totp.ts'
import { lockTwoFactor, putSeed, readTime, updateTwoFactor } from './two-factor-queries.ts'

type Keys = { readonly db: Db; readonly masterKeys: MasterKeys }
type Given = { readonly userId: string; readonly code: string; readonly audit: Audit }

/** The seed takes effect with `enableTwoFactor`. @throws MatteError CONFLICT: two-factor login is on */
export async function setUpTwoFactor({ db, masterKeys }: Keys, userId: string) {
  const { email } = await db.selectFrom('app_user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  const secret = newSeed()
  if ((await putSeed(db, userId, seal(masterKeys, userId, secret))) === undefined) throw isOn()
  return { secret, otpauthUrl: otpauthUrl(secret, email) }
}

/** Returns ten recovery codes. @throws MatteError CONFLICT: already on, or not set up; INVALID_PARAMS */
export function enableTwoFactor({ db, masterKeys }: Keys, { userId, code, audit }: Given): Promise<readonly string[]> {
  return db.transaction().execute(async (tx) => {
    const row = await lockTwoFactor(tx, userId)
    if (row === undefined) throw new MatteError('CONFLICT', 'Set up two-factor login first.')
    if (row.enabled_at !== null) throw isOn()
    const at = await readTime(tx)
    const step = matchStep(unseal(masterKeys, userId, row.secret_sealed), { code, at, lastStep: null })
    // Wrong codes are not counted: this user has seen the seed.
    if (step === undefined) throw invalidParam('/body/code', 'is not the current code of the app')
    await updateTwoFactor(tx, userId, { enabled_at: at, last_step: step })
    const codes = await replaceRecoveryCodes(tx, userId)
    const message = 'Two-factor login was switched on.'
    await publishPersonalEvent(tx, userId, { event: 'security.mfa_enabled', key: randomUUID(), fields: { message } })
    await audit(tx)
    return codes
  })
}

/** @throws MatteError CONFLICT: two-factor login is off; INVALID_PARAMS, RATE_LIMIT_EXCEEDED */
export function disableTwoFactor(keys: Keys, given: Given): Promise<void> {
  return withCode(keys, given, async (tx) => {
    await tx.deleteFrom('two_factor').where('user_id', '=', given.userId).execute()
    const message = 'Two-factor login was switched off.'
    await publishPersonalEvent(tx, given.userId, {
      event: 'security.mfa_disabled',
      key: randomUUID(),
      fields: { message },
    })
  })
}

/** @throws MatteError CONFLICT: two-factor login is off; INVALID_PARAMS, RATE_LIMIT_EXCEEDED */
export const renewRecoveryCodes = (keys: Keys, given: Given): Promise<readonly string[]> =>
  withCode(keys, given, (tx) => replaceRecoveryCodes(tx, given.userId))

/** Spends the code in the transaction of `act`. A wrong code is counted in the same way and then rejected. */
async function withCode<T>({ db, masterKeys }: Keys, given: Given, act: (tx: Db) => Promise<T>): Promise<T> {
  const done = await db.transaction().execute(async (tx) => {
    const outcome = await takeCode(tx, masterKeys, given)
    if (outcome.state !== 'taken') return { refused: codeRefused(outcome) }
    const value = await act(tx)
    await given.audit(tx)
    return { value }
  })
  if ('refused' in done) throw done.refused
  return done.value
}

const isOn = (): MatteError => new MatteError('CONFLICT', 'Two-factor login is already on. Switch it off first.')

// Switching the codes on and off (D16). What asks for a password has checked it before.
import { randomUUID } from 'node:crypto'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { invalidParam } from '../../invalid-params.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import { type MasterKeys, seal, unseal } from '../../runtime/seal.ts'
import { replaceRecoveryCodes } from './recovery-code-queries.ts'
import { codeRefused, takeCode } from './take-code.ts'
import { matchStep, newSeed, otpauthUrl } from './totp.ts'
import { lockTwoFactor, putSeed, readTime, updateTwoFactor } from './two-factor-queries.ts'

type Keys = { readonly db: Db; readonly masterKeys: MasterKeys }
type Given = { readonly userId: string; readonly code: string }

/**
 * A seed that nothing asks for until `enableTwoFactor` has seen a code of it; one that was set up before and not
 * confirmed is gone.
 * @throws MatteError CONFLICT: codes are on
 */
export async function setUpTwoFactor({ db, masterKeys }: Keys, userId: string) {
  const { email } = await db.selectFrom('app_user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  const secret = newSeed()
  if ((await putSeed(db, userId, seal(masterKeys, userId, secret))) === undefined) throw isOn()
  return { secret, otpauthUrl: otpauthUrl(secret, email) }
}

/** Ten recovery codes. @throws MatteError CONFLICT: codes are on, or not set up; INVALID_PARAMS */
export function enableTwoFactor({ db, masterKeys }: Keys, { userId, code }: Given): Promise<readonly string[]> {
  return db.transaction().execute(async (tx) => {
    const row = await lockTwoFactor(tx, userId)
    if (row === undefined) throw new MatteError('CONFLICT', 'Set two-factor login up first.')
    if (row.enabled_at !== null) throw isOn()
    const at = await readTime(tx)
    const step = matchStep(unseal(masterKeys, userId, row.secret_sealed), { code, at, lastStep: null })
    // Not counted: whoever is here was shown the seed.
    if (step === undefined) throw invalidParam('/body/code', 'is not the code that the app shows now')
    await updateTwoFactor(tx, userId, { enabled_at: at, last_step: step })
    const codes = await replaceRecoveryCodes(tx, userId)
    const message = 'Two-factor login was switched on.'
    await publishPersonalEvent(tx, userId, { event: 'security.mfa_enabled', key: randomUUID(), fields: { message } })
    return codes
  })
}

/** @throws MatteError CONFLICT: codes are off; INVALID_PARAMS, RATE_LIMIT_EXCEEDED */
export function disableTwoFactor(keys: Keys, given: Given): Promise<void> {
  return withCode(keys, given, async (tx) => {
    // The recovery codes go with it.
    await tx.deleteFrom('two_factor').where('user_id', '=', given.userId).execute()
    const message = 'Two-factor login was switched off.'
    await publishPersonalEvent(tx, given.userId, {
      event: 'security.mfa_disabled',
      key: randomUUID(),
      fields: { message },
    })
  })
}

/** @throws MatteError CONFLICT: codes are off; INVALID_PARAMS, RATE_LIMIT_EXCEEDED */
export const renewRecoveryCodes = (keys: Keys, given: Given): Promise<readonly string[]> =>
  withCode(keys, given, (tx) => replaceRecoveryCodes(tx, given.userId))

/** The code is used up in the transaction of what it allows; that a wrong one was tried is committed alone. */
async function withCode<T>({ db, masterKeys }: Keys, given: Given, act: (tx: Db) => Promise<T>): Promise<T> {
  const done = await db.transaction().execute(async (tx) => {
    const outcome = await takeCode(tx, masterKeys, given)
    return outcome.state === 'taken' ? { value: await act(tx) } : { refused: codeRefused(outcome) }
  })
  if ('refused' in done) throw done.refused
  return done.value
}

const isOn = (): MatteError => new MatteError('CONFLICT', 'Two-factor login is on already; switch it off first.')

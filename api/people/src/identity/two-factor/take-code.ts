import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { type MasterKeys, unseal } from '@matte/core/runtime/seal'
import { queueMail } from '../../mail/mail-queue.ts'
import { blockedUntil, type CodeKind, warnsOwner, withFailure, withWrongCode } from './failure-limit.ts'
import { hashRecoveryCode, takeRecoveryCode } from './recovery-code.ts'
import { isTotp, matchStep } from './totp.ts'
import { isTwoFactorOn, lockTwoFactor, readTime, updateTwoFactor } from './two-factor-queries.ts'

/** `off`: the account has no second factor. `stopped`: too many wrong codes; this one was not checked. */
type CodeOutcome =
  | { readonly state: 'taken' }
  | { readonly state: 'off' }
  | { readonly state: 'wrong' }
  | { readonly state: 'stopped'; readonly until: Date; readonly seconds: number }

type Given = { readonly userId: string; readonly code: string }

/** Spends a code or counts a wrong one. The caller commits in both cases, then throws `codeRefused`. */
export async function takeCode(tx: Db, masterKeys: MasterKeys, { userId, code }: Given): Promise<CodeOutcome> {
  const row = await lockTwoFactor(tx, userId)
  if (row === undefined || row.enabled_at === null) return { state: 'off' }
  const now = await readTime(tx)
  const kind = isTotp(code) ? 'totp' : 'recovery'
  const failures = kind === 'totp' ? row.totp_failures : row.recovery_failures
  const until = blockedUntil(kind, failures, now)
  if (until !== undefined) return { state: 'stopped', until, seconds: (until.getTime() - now.getTime()) / 1_000 }

  if (kind === 'totp') {
    const seed = unseal(masterKeys, userId, row.secret_sealed)
    const step = matchStep(seed, { code, at: now, lastStep: row.last_step })
    if (step !== undefined) {
      await updateTwoFactor(tx, userId, { last_step: step })
      return { state: 'taken' }
    }
  } else {
    const hash = hashRecoveryCode(code)
    // Text that cannot be a recovery code is not counted as a guess.
    if (hash === undefined) return { state: 'wrong' }
    if (await takeRecoveryCode(tx, userId, hash)) return { state: 'taken' }
  }
  await countWrongCode(tx, masterKeys, { row, kind, at: now })
  return { state: 'wrong' }
}

/** Error for a code that was not accepted. */
export function codeRefused(outcome: Exclude<CodeOutcome, { state: 'taken' }>): MatteError {
  if (outcome.state === 'off') return new MatteError('CONFLICT', 'Two-factor login is off.')
  if (outcome.state === 'wrong') return invalidParam('/body/code', 'is wrong or was already used')
  return new MatteError('RATE_LIMIT_EXCEEDED', 'Too many wrong codes. Try again later.', {
    details: { limit: 'codes', resetsAt: outcome.until.toISOString() },
    retryAfterSeconds: outcome.seconds,
  })
}

/** Requires a code only if two-factor login is on. The caller commits, then throws the returned error. */
export async function takeCodeIfOn(
  tx: Db,
  masterKeys: MasterKeys,
  { userId, code }: { readonly userId: string; readonly code: string | undefined },
): Promise<MatteError | undefined> {
  if (code === undefined) {
    const isOn = await isTwoFactorOn(tx, userId)
    return isOn ? invalidParam('/body/code', 'is required because two-factor login is on') : undefined
  }
  const outcome = await takeCode(tx, masterKeys, { userId, code })
  return outcome.state === 'taken' || outcome.state === 'off' ? undefined : codeRefused(outcome)
}

type Locked = NonNullable<Awaited<ReturnType<typeof lockTwoFactor>>>
type WrongCode = { readonly row: Locked; readonly kind: CodeKind; readonly at: Date }

/** Counts a wrong code and mails the owner after ten in a day. The caller has locked the row. */
export async function countWrongCode(tx: Db, masterKeys: MasterKeys, { row, kind, at }: WrongCode): Promise<void> {
  const { user_id: userId, totp_failures, recovery_failures, told_at } = row
  const wrong_codes = withWrongCode(row.wrong_codes, at)
  const warns = warnsOwner(wrong_codes, told_at, at)
  const failures =
    kind === 'totp'
      ? { totp_failures: withFailure(totp_failures, at) }
      : { recovery_failures: withFailure(recovery_failures, at) }
  await updateTwoFactor(tx, userId, { ...failures, wrong_codes, ...(warns && { told_at: at }) })
  if (!warns) return
  const { email } = await tx.selectFrom('app_user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  await queueMail(tx, masterKeys, {
    template: 'wrong-codes',
    data: { codes: wrong_codes.length },
    ...{ key: null, to: email, userId },
  })
}

import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { invalidParam } from '../../invalid-params.ts'
import { type MasterKeys, unseal } from '../../runtime/seal.ts'
import { countWrongCode } from './count-wrong-code.ts'
import { type CodeKind, stoppedUntil } from './failure-limit.ts'
import { hashRecoveryCode } from './recovery-code.ts'
import { takeRecoveryCode } from './recovery-code-queries.ts'
import { isTotp, matchStep } from './totp.ts'
import { isTwoFactorOn, lockTwoFactor, readTime, updateTwoFactor } from './two-factor-queries.ts'

/**
 * What became of a code. `off`: this account has no codes. `stopped`: too many were wrong, and this one was not judged.
 */
type CodeOutcome =
  | { readonly state: 'taken'; readonly kind: CodeKind }
  | { readonly state: 'off' }
  | { readonly state: 'wrong' }
  | { readonly state: 'stopped'; readonly until: Date; readonly seconds: number }

type Given = { readonly userId: string; readonly code: string }

/**
 * Takes a code by time or a recovery code: each works once (D16), and a wrong one is counted. Whoever calls commits
 * whatever the outcome is, since the count must stay, and refuses after that.
 */
export async function takeCode(tx: Db, masterKeys: MasterKeys, { userId, code }: Given): Promise<CodeOutcome> {
  const row = await lockTwoFactor(tx, userId)
  if (row === undefined || row.enabled_at === null) return { state: 'off' }
  const now = await readTime(tx)
  const kind = isTotp(code) ? 'totp' : 'recovery'
  const failures = kind === 'totp' ? row.totp_failures : row.recovery_failures
  const until = stoppedUntil(kind, failures, now)
  if (until !== undefined) return { state: 'stopped', until, seconds: (until.getTime() - now.getTime()) / 1_000 }

  if (kind === 'totp') {
    const seed = unseal(masterKeys, userId, row.secret_sealed)
    const step = matchStep(seed, { code, at: now, lastStep: row.last_step })
    if (step !== undefined) {
      await updateTwoFactor(tx, userId, { last_step: step })
      return { state: 'taken', kind }
    }
  } else {
    const hash = hashRecoveryCode(code)
    // It has not the form of a code, so that it guesses nothing.
    if (hash === undefined) return { state: 'wrong' }
    if (await takeRecoveryCode(tx, userId, hash)) return { state: 'taken', kind }
  }
  await countWrongCode(tx, masterKeys, { row, kind, at: now })
  return { state: 'wrong' }
}

/** The refusal of a code that was not taken. */
export function codeRefused(outcome: Exclude<CodeOutcome, { state: 'taken' }>): MatteError {
  if (outcome.state === 'off') return new MatteError('CONFLICT', 'Two-factor login is off.')
  if (outcome.state === 'wrong') return invalidParam('/body/code', 'is wrong, or was used before')
  return new MatteError('RATE_LIMIT_EXCEEDED', 'Too many codes were wrong; try again later.', {
    details: { limit: 'codes', resetsAt: outcome.until.toISOString() },
    retryAfterSeconds: outcome.seconds,
  })
}

/**
 * The same where a code is asked for only if the account has them. Whoever calls commits, and throws what is returned.
 */
export async function takeCodeIfOn(
  tx: Db,
  masterKeys: MasterKeys,
  { userId, code }: { readonly userId: string; readonly code: string | undefined },
): Promise<MatteError | undefined> {
  if (code === undefined) {
    const isOn = await isTwoFactorOn(tx, userId)
    return isOn ? invalidParam('/body/code', 'is required, since two-factor login is on') : undefined
  }
  const outcome = await takeCode(tx, masterKeys, { userId, code })
  return outcome.state === 'taken' || outcome.state === 'off' ? undefined : codeRefused(outcome)
}

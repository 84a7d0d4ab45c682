// The code step of a login with two factors.
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { insertFailedLogin } from '../session/login-events.ts'
import { deleteMfaToken, tryMfaToken } from '../session/pending-login.ts'
import { type SignInClient, type StartedSession, startSession } from '../session/start-session.ts'
import { codeRefused, takeCode } from '../two-factor/take-code.ts'
import { isTotp } from '../two-factor/totp.ts'

type SecondStep = { readonly mfaToken: string; readonly code: string; readonly client: SignInClient }

/** @throws MatteError AUTH_INVALID_TOKEN: log in again; INVALID_PARAMS: the code; RATE_LIMIT_EXCEEDED */
export async function finishLogin(
  { db, masterKeys }: { readonly db: Db; readonly masterKeys: MasterKeys },
  { mfaToken, code, client }: SecondStep,
): Promise<StartedSession> {
  const done = await db.transaction().execute(async (tx) => {
    const userId = await tryMfaToken(tx, mfaToken)
    if (userId === undefined) return { refused: tokenRefused() }
    const method = isTotp(code) ? 'totp' : 'recovery_code'
    const outcome = await takeCode(tx, masterKeys, { userId, code })
    if (outcome.state !== 'taken') {
      const failureReason = outcome.state === 'stopped' ? 'too_many_codes' : 'wrong_code'
      await insertFailedLogin(tx, { userId, method, failureReason, client })
      return { refused: outcome.state === 'off' ? tokenRefused() : codeRefused(outcome) }
    }
    await deleteMfaToken(tx, mfaToken)
    const session = await startSession(tx, { userId, method, client })
    return session === undefined ? { refused: tokenRefused() } : { session }
  })
  if ('refused' in done) throw done.refused
  return done.session
}

const tokenRefused = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'This login is invalid or has expired. Sign in again.')

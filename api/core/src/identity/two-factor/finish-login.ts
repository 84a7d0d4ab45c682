import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { insertFailedLogin } from '../login/login-events.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import { type StartedSession, startSession } from '../session/start-session.ts'
import { deleteMfaToken, tryMfaToken } from './mfa-token.ts'
import { codeRefused, takeCode } from './take-code.ts'
import { isTotp } from './totp.ts'

type SecondStep = { readonly mfaToken: string; readonly code: string; readonly client: SignInClient }

/**
 * The second half of a login: the code that its token waits for. Tries and wrong codes are counted whatever comes of
 * it.
 * @throws MatteError AUTH_INVALID_TOKEN: begin again; INVALID_PARAMS: the code; RATE_LIMIT_EXCEEDED
 */
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
      // Codes were switched off since the password was sent: there is nothing to wait for.
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
  new MatteError('AUTH_INVALID_TOKEN', 'This login is not valid, or no longer: sign in again.')

import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import { verifyAddress } from '@matte/core/identity/account/verify-address'
import { tooManyFailures } from '@matte/core/identity/password/confirm-password'
import type { StartedSession } from '@matte/core/identity/session/start-session'
import type { FastifyRequest } from 'fastify'
import { clientOf, passwordClientOf } from '../own-password.ts'
import type { AuthDeps } from './auth-deps.ts'
import { untilAnswerMs } from './slow-answer.ts'

type VerifyDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'freeCredits'> & {
  readonly nudge: Pick<Nudge, 'delivery'>
}

/**
 * Verifies the address of a registration by the token of its mail and its password (D92). Undefined: the token does not
 * work.
 * @throws MatteError AUTH_INVALID_TOKEN: the password is wrong; RATE_LIMIT_EXCEEDED
 */
export async function verifyByRequest(
  deps: VerifyDeps,
  request: FastifyRequest,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<StartedSession | undefined> {
  const startedAt = performance.now()
  // The queue of password hashes has its own bound.
  request.makeRoom()
  const from = passwordClientOf(request)
  const done = await verifyAddress(deps, { token, password, from, client: clientOf(request) })
  if (done.outcome === 'refused') return undefined
  if (done.outcome === 'delayed') throw tooManyFailures(done.waitSeconds)
  if (done.outcome === 'signed_in') {
    deps.nudge.delivery(done.session.userId)
    return done.session
  }
  await untilAnswerMs(startedAt, done.answerMs)
  throw wrongPassword()
}

const wrongPassword = (): MatteError =>
  new MatteError(
    'AUTH_INVALID_TOKEN',
    'The password is not the one of this registration. Try another one, or ask for a link to set a new password.',
    { details: { passwordReset: 'POST /api/v1/app/auth/password/forgot' } },
  )

import { MatteError } from '@matte/core/error'
import type { Judged } from '@matte/core/identity/login/admit'
import { logIn } from '@matte/core/identity/login/log-in'
import { tooManyFailures } from '@matte/core/identity/password/confirm-password'
import type { FastifyRequest } from 'fastify'
import { clientOf, passwordClientOf } from '../own-password.ts'
import type { AuthDeps } from './auth-deps.ts'
import { untilAnswerMs } from './slow-answer.ts'

type LoginDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'signIn' | 'accountRequests'>
type Passed = Exclude<Judged, { readonly outcome: 'failed' }>

/**
 * Judges the password of a request, in the same way and time for every address. The mail of an account that is not
 * verified is on its way when this returns.
 * @throws MatteError AUTH_INVALID_TOKEN, RATE_LIMIT_EXCEEDED
 */
export async function logInByRequest(
  deps: LoginDeps,
  request: FastifyRequest,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<Passed> {
  const startedAt = performance.now()
  // Hashing waits in a queue that has its own bound.
  request.makeRoom()
  const given = { email, password, from: passwordClientOf(request), client: clientOf(request) }
  const done = await logIn(deps, given)
  deps.signIn.countLogin(done.outcome)
  await untilAnswerMs(startedAt, done.answerMs)
  if (done.outcome === 'delayed') throw tooManyFailures(done.waitSeconds)
  if (done.outcome === 'failed') throw notSignedIn()
  if (done.outcome === 'unverified') deps.accountRequests.wake()
  return done
}

const notSignedIn = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'The e-mail address or the password is wrong.')

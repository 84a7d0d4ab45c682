import type { Audit } from '@matte/core/audit/record-change'
import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import { pause } from '@matte/core/runtime/service'
import { registrationSalt, requestAccount } from '@matte/people/identity/account/account-requests'
import { verifyAddress } from '@matte/people/identity/account/verify-address'
import type { LoginOutcome } from '@matte/people/identity/login/complete-login'
import { logIn } from '@matte/people/identity/login/log-in'
import {
  type ConfirmationDeps,
  confirmPassword,
  tooManyFailures,
} from '@matte/people/identity/password/confirm-password'
import { checkNewPassword } from '@matte/people/identity/password/new-password'
import { type PasswordClient, turnOfAddress } from '@matte/people/identity/password/password-hasher'
import type { Proof } from '@matte/people/identity/session/session-proof'
import type { SignInClient, StartedSession } from '@matte/people/identity/session/start-session'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { clientAddress, clientNetwork, wideNetwork } from '../../../limit/client-network.ts'
import { acceptedLocale, canonicalLocale, localeRefused } from '../../../locale.ts'
import type { registerRequest } from '../../../schemas/app/auth.ts'
import type { AuthDeps } from './auth-deps.ts'

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): SignInClient => ({
  ipAddress: clientAddress(ip),
  userAgent: headers['user-agent'] ?? null,
})

export const passwordClientOf = ({ ip }: Pick<FastifyRequest, 'ip'>): PasswordClient => ({
  network: wideNetwork(ip),
  client: clientNetwork(ip),
})

type Signed = Pick<FastifyRequest, 'member' | 'ip' | 'releaseSlot'>

/**
 * Confirms the password of the signed-in user, which is a proof in their session.
 * @throws MatteError INVALID_PARAMS, RATE_LIMIT_EXCEEDED, AUTH_INVALID_TOKEN
 */
export async function confirmOwnPassword(
  deps: ConfirmationDeps,
  request: Signed,
  password: string,
  audit?: Audit,
): Promise<Proof> {
  // Password hashing has its own bounded queue, here and below.
  request.releaseSlot()
  const { userId, sessionId } = request.member
  const from = passwordClientOf(request)
  const { proof } = await confirmPassword(deps, { userId, sessionId, password, from, path: '/body/password', audit })
  return proof
}

/** Delays the response until `answerMs` after `startedAt` (D15). */
export async function untilAnswerMs(startedAt: number, answerMs: number): Promise<void> {
  const leftMs = answerMs - (performance.now() - startedAt)
  if (leftMs > 0) await pause(leftMs)
}

type LoginDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'signIn' | 'accountRequests'>
type Passed = Exclude<LoginOutcome, { readonly outcome: 'failed' }>

/** Takes the same time for every address. @throws MatteError AUTH_INVALID_TOKEN, RATE_LIMIT_EXCEEDED */
export async function logInByRequest(
  deps: LoginDeps,
  request: FastifyRequest,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<Passed> {
  const startedAt = performance.now()
  request.releaseSlot()
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

type RegisterDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'accountRequests'>

/** Does not reveal whether the address has an account. @throws MatteError INVALID_PARAMS for password or locale */
export async function registerByRequest(
  { db, masterKeys, hasher, accountRequests }: RegisterDeps,
  request: FastifyRequest,
  { email, password, name, referralCode, locale: wanted }: Static<typeof registerRequest>,
): Promise<void> {
  checkNewPassword(password, '/body/password', [email, name])
  const locale = wanted == null ? acceptedLocale(request) : canonicalLocale(wanted)
  if (wanted != null && locale === undefined) throw invalidParams([localeRefused])
  request.releaseSlot()
  const turn = turnOfAddress(passwordClientOf(request), email)
  const passwordHash = await hasher.hash(turn, password, registrationSalt(masterKeys, email))
  await requestAccount(db, {
    ...{ email, passwordHash },
    name: name || null,
    referralCode: referralCode || null,
    ipAddress: clientAddress(request.ip),
    locale: locale ?? null,
  })
  accountRequests.wake()
}

type VerifyDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'newAccounts'> & {
  readonly nudge: Pick<Nudge, 'delivery'>
}

/** Undefined when the token is invalid. @throws MatteError AUTH_INVALID_TOKEN, RATE_LIMIT_EXCEEDED */
export async function verifyByRequest(
  deps: VerifyDeps,
  request: FastifyRequest,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<StartedSession | undefined> {
  const startedAt = performance.now()
  request.releaseSlot()
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

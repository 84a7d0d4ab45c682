import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { NewAccounts } from '@matte/people/identity/account/open-account'
import type { PasswordHasher } from '@matte/people/identity/password/password-hasher'
import { issueTokens, type TokenIssuer } from '@matte/people/identity/session/access-token'
import type { StartedSession } from '@matte/people/identity/session/start-session'
import type { SessionCookie } from '../../../auth/session-cookie.ts'
import type { SignInMetrics } from '../../../auth/sign-in-metrics.ts'
import { readProfile } from '../profile.ts'

export type AuthDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
  readonly issuer: TokenIssuer
  readonly cookie: SessionCookie
  readonly signIn: SignInMetrics
  /** Processes requests of signed-out users at once. */
  readonly accountRequests: { wake(): void }
  readonly appUrl: string
  readonly newAccounts: NewAccounts
  readonly sessionIdleHours: number
  /** Registration, reset and their mails are enabled. */
  readonly registers: boolean
  readonly resets: boolean
}

export const tags = ['Sign-in']

export async function toSignedIn({ db, issuer }: Pick<AuthDeps, 'db' | 'issuer'>, session: StartedSession) {
  const [tokens, user] = await Promise.all([issueTokens(issuer, session), readProfile(db, session.userId)])
  return { ...tokens, user }
}

export const linkRefused = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'This link is invalid or has expired: ask for a new one.')

/** @throws MatteError NOT_FOUND when the installation does not have this operation */
export function requireOn(isOn: boolean): void {
  if (!isOn) throw new MatteError('NOT_FOUND', 'There is nothing here.')
}

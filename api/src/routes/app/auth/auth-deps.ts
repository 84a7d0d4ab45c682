import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { findSignedInUser } from '@matte/core/identity/account/signed-in-user'
import type { PasswordHasher } from '@matte/core/identity/password/password-hasher'
import { issueTokens, type TokenIssuer } from '@matte/core/identity/session/issue-tokens'
import type { StartedSession } from '@matte/core/identity/session/start-session'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { SignInMetrics } from '../../../auth/sign-in-metrics.ts'
import { toSignedInUserView } from '../../../views/session-view.ts'

export type AuthDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
  readonly issuer: TokenIssuer
  readonly signIn: SignInMetrics
  /** Requests of people who are not signed in are done at once. */
  readonly accountRequests: { wake(): void }
  readonly appUrl: string
  /** What the plan Free grants. */
  readonly freeCredits: number
  /** Registering, resetting and their mails are on (D73). */
  readonly registers: boolean
  readonly resets: boolean
}

export const tags = ['Sign-in']

/** Tokens, and whose they are. */
export async function toSignedIn({ db, issuer }: Pick<AuthDeps, 'db' | 'issuer'>, session: StartedSession) {
  const [tokens, user] = await Promise.all([issueTokens(issuer, session), findSignedInUser(db, session.userId)])
  return { ...tokens, user: toSignedInUserView(user) }
}

export const linkRefused = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'This link is not valid, or no longer: ask for a new one.')

/** An operation that this installation does not have (D73). */
export function requireOn(isOn: boolean): void {
  if (!isOn) throw new MatteError('NOT_FOUND', 'There is nothing here.')
}

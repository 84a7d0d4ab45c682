import type { Db } from '../db/database.ts'
import type { SignInClient } from './session/start-session.ts'
import { createMfaToken } from './two-factor/mfa-token.ts'
import { isTwoFactorOn } from './two-factor/two-factor-queries.ts'

type RightPassword = { readonly userId: string; readonly client: SignInClient }

/**
 * Asked by a login in its transaction, after the right password. A token: the session begins only when it comes back
 * with a code (D16), and until then the history says that somebody knew the password. Undefined: this account asks for
 * none.
 */
export async function askSecondFactor(tx: Db, { userId, client }: RightPassword): Promise<string | undefined> {
  return (await isTwoFactorOn(tx, userId)) ? createMfaToken(tx, { userId, client }) : undefined
}

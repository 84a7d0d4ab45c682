import type { Db } from '../db/database.ts'
import type { SignInClient } from './session/start-session.ts'

type RightPassword = { readonly userId: string; readonly client: SignInClient }

/**
 * Asked by a login in its transaction, after the right password. A token: the session begins only when it comes back
 * with a code (D16). Undefined: nobody has a second factor yet.
 */
export async function askSecondFactor(_tx: Db, _login: RightPassword): Promise<string | undefined> {
  return undefined
}

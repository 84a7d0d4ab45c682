import type { Db } from '../../db/database.ts'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import { tellOwnerAfter } from './delay.ts'
import { insertFailedLogin } from './login-events.ts'
import { warnOwner } from './warn-owner.ts'

type WrongPassword = {
  readonly method: LoginEventTable['method']
  /** Undefined: no account has the address. */
  readonly owner: { readonly id: string; readonly email: string } | undefined
  /** Key that failures are counted by. */
  readonly account: Buffer
  /** Failures of the account, this one included. */
  readonly failures: number
  readonly client: SignInClient
}

/** Records a wrong password in the login history, and warns the owner of many (D15). */
export async function refuseLogin(db: Db, masterKeys: MasterKeys, wrong: WrongPassword): Promise<void> {
  const { method, owner, account, failures, client } = wrong
  await db.transaction().execute(async (tx) => {
    await insertFailedLogin(tx, { userId: owner?.id ?? null, method, failureReason: 'wrong_password', client })
    if (owner !== undefined && failures >= tellOwnerAfter) await warnOwner(tx, masterKeys, { ...owner, account })
  })
}

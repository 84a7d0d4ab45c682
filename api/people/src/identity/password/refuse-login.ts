import type { Db } from '@matte/core/db/database'
import type { LoginEventTable } from '@matte/core/db/tables/account'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { queueMail } from '../../mail/mail-queue.ts'
import { insertFailedLogin } from '../session/login-events.ts'
import type { SignInClient } from '../session/start-session.ts'
import { warnOwnerAfter } from './login-attempts.ts'

type WrongPassword = {
  readonly method: LoginEventTable['method']
  readonly owner: { readonly id: string; readonly email: string } | undefined
  readonly account: Buffer
  readonly failures: number
  readonly client: SignInClient
}

/** Records a wrong password, and warns the owner after many. */
export async function refuseLogin(db: Db, masterKeys: MasterKeys, wrong: WrongPassword): Promise<void> {
  const { method, owner, account, failures, client } = wrong
  await db.transaction().execute(async (tx) => {
    await insertFailedLogin(tx, { userId: owner?.id ?? null, method, failureReason: 'wrong_password', client })
    if (owner !== undefined && failures >= warnOwnerAfter) await warnOwner(tx, masterKeys, { ...owner, account })
  })
}

type Owner = { readonly account: Buffer; readonly id: string; readonly email: string }

/** Mails the owner of an account with many wrong passwords, once until the failures are forgotten. */
export async function warnOwner(tx: Db, masterKeys: MasterKeys, { account, id, email }: Owner): Promise<void> {
  const failures = await takeWarning(tx, account)
  if (failures === undefined) return
  await queueMail(tx, masterKeys, {
    template: 'failed-logins',
    data: { failures },
    ...{ key: null, to: email, userId: id },
  })
}

async function takeWarning(tx: Db, account: Buffer): Promise<number | undefined> {
  const row = await tx
    .updateTable('login_failure')
    .set({ told_at: sql<Date>`now()` })
    .where('account', '=', account)
    .where('network', '=', '')
    .where('failures', '>=', warnOwnerAfter)
    .where('told_at', 'is', null)
    .returning('failures')
    .executeTakeFirst()
  return row?.failures
}

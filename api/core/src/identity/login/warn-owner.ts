import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { tellOwnerAfter } from './delay.ts'

type Owner = { readonly account: Buffer; readonly id: string; readonly email: string }

/** A mail to the owner of an account with many wrong passwords (D15): once, until they are forgotten. */
export async function warnOwner(tx: Db, masterKeys: MasterKeys, { account, id, email }: Owner): Promise<void> {
  const failures = await takeWarning(tx, account)
  if (failures === undefined) return
  await queueMail(tx, masterKeys, {
    template: 'failed-logins',
    data: { failures },
    ...{ key: null, to: email, userId: id },
  })
}

/** How many there were, when that is to be told to the owner now: once, until they are forgotten. */
async function takeWarning(tx: Db, account: Buffer): Promise<number | undefined> {
  const row = await tx
    .updateTable('login_failure')
    .set({ told_at: sql<Date>`now()` })
    .where('account', '=', account)
    .where('network', '=', '')
    .where('failures', '>=', tellOwnerAfter)
    .where('told_at', 'is', null)
    .returning('failures')
    .executeTakeFirst()
  return row?.failures
}

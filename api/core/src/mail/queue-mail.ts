// Mails are rows, written in the transaction that is their reason and sent by the dispatcher when they are due (D73).
import { randomUUID } from 'node:crypto'
import { foldAddress } from '../address.ts'
import type { Db } from '../db/database.ts'
import { type MasterKeys, seal } from '../runtime/seal.ts'
import type { MailData } from './templates.ts'

type NewMail = MailData & {
  /** Names the mail: queued again under the same key it is sent once. Null: it is always a new one. */
  readonly key: string | null
  readonly to: string
  /** Whom the address belongs to, if that is known. */
  readonly userId: string | null
}

/** Writes a mail to be sent; what fills its template is sealed until then. */
export async function queueMail(tx: Db, masterKeys: MasterKeys, mail: NewMail): Promise<void> {
  const id = randomUUID()
  await tx
    .insertInto('mail')
    .values({
      id,
      mail_key: mail.key,
      user_id: mail.userId,
      to_address: mail.to,
      to_key: foldAddress(mail.to),
      template: mail.template,
      data_sealed: seal(masterKeys, id, JSON.stringify(mail.data)),
    })
    .onConflict((conflict) => conflict.column('mail_key').doNothing())
    .execute()
}

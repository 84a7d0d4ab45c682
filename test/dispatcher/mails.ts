// Mails as rows, and dispatchers that send them to a server of the test.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { queueMail } from '@matte/core/mail/queue-mail'
import type { MailData } from '@matte/core/mail/templates'
import { sql } from 'kysely'
import { masterKeys } from './in-process.ts'

/** The token of a link, which no log may have. */
export const secretToken = 'secret-token-of-a-link'

const someMail: MailData = {
  template: 'verify-email',
  data: { url: `https://app.example.com/verify?token=${secretToken}` },
}

/** A queued mail, due now; returns its row's id. */
export async function givenMail(db: Db, to: string, data: MailData = someMail): Promise<string> {
  const key = randomUUID()
  await queueMail(db, masterKeys, { ...data, key, to, userId: null })
  const row = await db.selectFrom('mail').select('id').where('mail_key', '=', key).executeTakeFirstOrThrow()
  return row.id
}

export const readMail = (db: Db, id: string) =>
  db.selectFrom('mail').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** As if so much time had passed for every mail that waits. */
export const letMailsAge = (db: Db, hours: number) =>
  sql`
    update mail
       set due_at = due_at - ${hours} * interval '1 hour', created_at = created_at - ${hours} * interval '1 hour'
     where status = 'pending'`.execute(db)

/** As if the dispatchers that hold them had died long ago. */
export const lapseMailClaims = (db: Db) =>
  db.updateTable('mail').set({ claimed_until: sql`now()` }).where('claim', 'is not', null).execute()

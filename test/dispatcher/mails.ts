// Mails as rows, and dispatchers that send them to a mail server of the test.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { queueMail } from '@matte/people/mail/mail-queue'
import type { MailData } from '@matte/people/mail/templates'
import { sql } from 'kysely'
import { masterKeys } from './in-process.ts'

/** Token of a link, which no log may contain. */
export const secretToken = 'secret-token-of-a-link'

const someMail: MailData = {
  template: 'verify-email',
  data: { url: `https://app.example.com/verify?token=${secretToken}` },
}

/** Queues a mail, due now; returns its id. */
export async function givenMail(db: Db, to: string, data: MailData = someMail): Promise<string> {
  const key = randomUUID()
  await queueMail(db, masterKeys, { ...data, key, to, userId: null })
  const row = await db.selectFrom('mail').select('id').where('mail_key', '=', key).executeTakeFirstOrThrow()
  return row.id
}

export const readMail = (db: Db, id: string) =>
  db.selectFrom('mail').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Moves every queued mail back by this time. */
export const letMailsAge = (db: Db, hours: number) =>
  sql`
    update mail
       set due_at = due_at - ${hours} * interval '1 hour', created_at = created_at - ${hours} * interval '1 hour'
     where status = 'pending'`.execute(db)

/** Lets all claims lapse, as if their dispatchers had died long ago. */
export const lapseMailClaims = (db: Db) =>
  db.updateTable('mail').set({ claimed_until: sql`now()` }).where('claim', 'is not', null).execute()

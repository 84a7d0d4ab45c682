// What becomes of a mail that was claimed. Once it is sent or given up, its address and what filled it are gone (D17).
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { MailRef } from './claim-mails.ts'

const ended = { to_address: null, to_key: null, data_sealed: null, claim: null, claimed_until: null } as const

/** Of a pending mail with this claim; undefined: the claim is somebody else's by now, and nothing was written. */
const claimed = (db: Db, { id, claim }: MailRef) =>
  db.updateTable('mail').where('id', '=', id).where('claim', '=', claim).returning('id')

export const recordSent = (db: Db, mail: MailRef) =>
  claimed(db, mail)
    .set({ ...ended, status: 'sent', error: null, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

/** Refused for good. `error` names the answer and nobody's address. */
export const recordRefused = (db: Db, mail: MailRef, error: string) =>
  claimed(db, mail)
    .set({ ...ended, status: 'failed', error, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

type Postponed = {
  readonly error: string
  readonly delayMs: number
  /** False: the mail had no part in it, since no server was there to answer. */
  readonly counts: boolean
}

export const postpone = (db: Db, mail: MailRef, { error, delayMs, counts }: Postponed) =>
  claimed(db, mail)
    .set((eb) => ({
      error,
      claim: null,
      claimed_until: null,
      due_at: sql<Date>`now() + ${delayMs} * interval '1 ms'`,
      ...(!counts && { attempt: eb('attempt', '-', 1) }),
    }))
    .executeTakeFirst()

/** Attempt n is followed by the next after 1, 2, 4, … minutes, an hour at most. */
export const retryDelayMs = (attempt: number): number => Math.min(2 ** (attempt - 1), 60) * 60_000

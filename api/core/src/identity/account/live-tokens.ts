import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { MailTokenTable } from '../../db/tables/sign-in.ts'

type Purpose = MailTokenTable['purpose']

/** Tokens of one kind that an account can have at once, so that nobody's mailbox can be filled from here. */
const liveMax: Readonly<Record<Purpose, number>> = { 'verify-email': 5, 'reset-password': 3 }

export type WantedToken = {
  readonly purpose: Purpose
  readonly userId: string
  /** Hash of the password that a link to verify an address works with (D92). */
  readonly passwordHash?: string | null
}

export const canHaveToken = async (tx: Db, wanted: WantedToken): Promise<boolean> =>
  (await countLiveTokens(tx, wanted)) < liveMax[wanted.purpose]

export async function countLiveTokens(tx: Db, { purpose, userId }: WantedToken): Promise<number> {
  const { count } = await tx
    .selectFrom('mail_token')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow()
  return count
}

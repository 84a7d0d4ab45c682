import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Without the characters that are read for one another. */
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const length = 8

/** One of 8·10¹¹. */
const randomCode = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** Two of a million codes are alike once in a million times; five times in a row is an error. */
const triesMax = 5

/** The code of a person, made when it is first asked for and the same forever. */
export async function readCode(db: Db, userId: string): Promise<string> {
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await db.selectFrom('referral_code').select('code').where('user_id', '=', userId).executeTakeFirst()
    if (found !== undefined) return found.code
    // Another request may be first, and another person may have that code: the next look tells which.
    await db
      .insertInto('referral_code')
      .values({ user_id: userId, code: randomCode() })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  throw new Error('no referral code could be made')
}

/** Whose code it is; undefined when it is nobody's, or of somebody who is gone. */
export function findReferrer(db: Db, code: string) {
  return db
    .selectFrom('referral_code as c')
    .innerJoin('app_user as u', 'u.id', 'c.user_id')
    .select('u.id')
    .where('c.code', '=', sql<string>`upper(trim(${code}))`)
    .where('u.erased_at', 'is', null)
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst()
}

import { randomInt } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const length = 8

const randomCode = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** Collisions are rare: 8·10¹¹ codes exist. */
const triesMax = 5

export async function readCode(db: Db, userId: string): Promise<string> {
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await db.selectFrom('referral_code').select('code').where('user_id', '=', userId).executeTakeFirst()
    if (found !== undefined) return found.code
    // A concurrent request or another user's code causes a conflict; the next pass reads or retries.
    await db
      .insertInto('referral_code')
      .values({ user_id: userId, code: randomCode() })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  throw new Error('no free referral code was found')
}

/** Owner of the code; undefined if unknown, disabled or erased. */
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

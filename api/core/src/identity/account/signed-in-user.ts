import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/** Whoever has just signed in, as the answer has it. */
export function findSignedInUser(db: Db, userId: string) {
  return db
    .selectFrom('app_user')
    .select(['id', 'email', 'name', 'locale', 'time_zone', 'avatar_url', 'created_at'])
    .select(sql<boolean>`email_verified_at is not null`.as('email_verified'))
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
}

export type SignedInUser = Awaited<ReturnType<typeof findSignedInUser>>

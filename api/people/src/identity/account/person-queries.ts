import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { sql } from 'kysely'

export type Profile = {
  readonly id: string
  readonly email: string
  readonly emailVerified: boolean
  readonly name: string | null
  readonly locale: string
  readonly timeZone: string
  readonly avatarUrl: string | null
  readonly mfaEnabled: boolean
  readonly createdAt: Date
}

export const findProfile = (db: Db, userId: string): Promise<Profile | undefined> =>
  selectProfile(db, userId).executeTakeFirst()

export const selectProfile = (db: Db, userId: string) =>
  db
    .selectFrom('app_user as u')
    .leftJoin('two_factor as t', (join) => join.onRef('t.user_id', '=', 'u.id').on('t.enabled_at', 'is not', null))
    .select(['u.id', 'u.email', 'u.name', 'u.locale', 'u.time_zone as timeZone', 'u.avatar_url as avatarUrl'])
    .select('u.created_at as createdAt')
    .select(sql<boolean>`u.email_verified_at is not null`.as('emailVerified'))
    .select(sql<boolean>`t.user_id is not null`.as('mfaEnabled'))
    .where('u.id', '=', userId)
    .where('u.erased_at', 'is', null)

export type ProfileChanges = {
  readonly name?: string | null
  readonly locale?: string
  readonly timeZone?: string
  readonly avatarUrl?: string | null
}

export async function updateProfile(db: Db, userId: string, changes: ProfileChanges): Promise<void> {
  const { name, locale, timeZone, avatarUrl } = changes
  const values = {
    ...(name !== undefined && { name }),
    ...(locale !== undefined && { locale }),
    ...(timeZone !== undefined && { time_zone: timeZone }),
    ...(avatarUrl !== undefined && { avatar_url: avatarUrl }),
  }
  if (Object.keys(values).length === 0) return
  await db.updateTable('app_user').set(values).where('id', '=', userId).where('erased_at', 'is', null).execute()
}

/** Lock order: workspaces, users, rows of users. @throws MatteError AUTH_INVALID_TOKEN: erased since authorization */
export async function lockPerson(tx: Db, userId: string): Promise<{ readonly email: string }> {
  const person = await tx
    .selectFrom('app_user')
    .select('email')
    .where('id', '=', userId)
    .where('erased_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (person === undefined) throw new MatteError('AUTH_INVALID_TOKEN', 'This account was deleted.')
  return person
}

/** Removes personal data from the user's row and frees the address; references to the row stay. */
export async function anonymise(tx: Db, userId: string): Promise<void> {
  await sql`
    update app_user
       set email = 'erased-' || id || '@erased.invalid', email_key = null, email_verified_at = null,
           password_hash = null, name = null, locale = default, time_zone = default, avatar_url = null,
           referral_code = null, registered_from = null, erased_at = now()
     where id = ${userId}`.execute(tx)
}

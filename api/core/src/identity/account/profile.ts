import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { Role } from '../../workspace/role.ts'

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

/** Undefined: erased, or never there. */
export function findProfile(db: Db, userId: string): Promise<Profile | undefined> {
  return db
    .selectFrom('app_user as u')
    .leftJoin('two_factor as t', (join) => join.onRef('t.user_id', '=', 'u.id').on('t.enabled_at', 'is not', null))
    .select(['u.id', 'u.email', 'u.name', 'u.locale', 'u.time_zone as timeZone', 'u.avatar_url as avatarUrl'])
    .select('u.created_at as createdAt')
    .select(sql<boolean>`u.email_verified_at is not null`.as('emailVerified'))
    .select(sql<boolean>`t.user_id is not null`.as('mfaEnabled'))
    .where('u.id', '=', userId)
    .where('u.erased_at', 'is', null)
    .executeTakeFirst()
}

/** What is absent stays; null takes it away. */
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

export type OwnWorkspace = {
  readonly id: string
  readonly name: string
  readonly kind: 'personal' | 'team'
  readonly role: Role
  readonly plan: string
  readonly joinedAt: Date
}

/** Workspaces that are answered in a list; nobody is in so many. */
export const workspacesMax = 1_000

/** Where a person is a member: the personal one first, then by the time of joining. */
export function listOwnWorkspaces(db: Db, userId: string): Promise<OwnWorkspace[]> {
  return db
    .selectFrom('membership as m')
    .innerJoin('workspace as w', 'w.id', 'm.workspace_id')
    .select(['w.id', 'w.name', 'w.kind', 'm.role', 'w.plan', 'm.created_at as joinedAt'])
    .where('m.user_id', '=', userId)
    .orderBy(sql`w.personal_of is not distinct from m.user_id`, 'desc')
    .orderBy('m.created_at')
    .orderBy('w.id')
    .limit(workspacesMax)
    .execute()
}

/** Undefined: erased. */
export function findPersonalWorkspace(db: Db, userId: string) {
  return db.selectFrom('workspace').select(['id', 'plan']).where('personal_of', '=', userId).executeTakeFirst()
}

import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { findProfile, type Profile } from '@matte/core/identity/personal/profile'

/** @throws MatteError AUTH_INVALID_TOKEN: erased since the request was let in */
export async function readProfile(db: Db, userId: string) {
  const profile = await findProfile(db, userId)
  if (profile === undefined) throw accountDeleted()
  return toProfileView(profile)
}

export const accountDeleted = (): MatteError => new MatteError('AUTH_INVALID_TOKEN', 'This account was deleted.')

export const toProfileView = ({ createdAt, ...profile }: Profile) => ({
  ...profile,
  createdAt: createdAt.toISOString(),
})

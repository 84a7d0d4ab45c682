import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { findProfile, type Profile, type ProfileChanges } from '@matte/people/identity/account/person-queries'
import type { Static } from 'typebox'
import { canonicalLocale, localeRefused } from '../../locale.ts'
import type { profilePatch } from '../../schemas/app/user.ts'

export function readProfileChanges(body: Static<typeof profilePatch>): ProfileChanges {
  const issues: Issue[] = []
  const refuse = (field: string, message: string): undefined => void issues.push({ path: `/body/${field}`, message })
  const { name, locale, timeZone, avatarUrl } = body
  const changes = {
    ...(name != null && { name: name.trim() || null }),
    ...(locale != null && { locale: canonicalLocale(locale) ?? refuse('locale', localeRefused.message) }),
    ...(timeZone != null && {
      timeZone: canonicalZone(timeZone) ?? refuse('timeZone', 'must be an IANA time zone, such as Europe/Vienna'),
    }),
    ...(avatarUrl != null && {
      avatarUrl: avatarUrl === '' ? null : (imageUrl(avatarUrl) ?? refuse('avatarUrl', 'must be an https address')),
    }),
  }
  if (issues.length > 0) throw invalidParams(issues)
  return changes as ProfileChanges // invalid values were refused above
}

/** The canonical name; JavaScript also accepts offsets like `+01:00`, which are not zones. */
function canonicalZone(text: string): string | undefined {
  if (!/^[A-Za-z]/.test(text)) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

function imageUrl(text: string): string | undefined {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === ''
  return isPlain && url.href.length <= 2_048 ? url.href : undefined
}

/** @throws MatteError AUTH_INVALID_TOKEN when the account was erased since authentication */
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

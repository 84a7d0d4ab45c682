import type { SignedInUser } from '@matte/core/identity/account/signed-in-user'
import type { ListedSession } from '@matte/core/identity/session/session-queries'
import type { Static } from 'typebox'
import type { sessionSchema, signedInUserSchema } from '../schemas/app/auth.ts'

export const toSessionView = (session: ListedSession, currentId: string): Static<typeof sessionSchema> => ({
  id: session.id,
  createdAt: session.created_at.toISOString(),
  lastUsedAt: session.last_used_at.toISOString(),
  ipAddress: session.ip_address,
  userAgent: session.user_agent,
  current: session.id === currentId,
})

/** Who signs in without a code has no second factor. */
export const toSignedInUserView = (user: SignedInUser): Static<typeof signedInUserSchema> => ({
  id: user.id,
  email: user.email,
  emailVerified: user.email_verified,
  name: user.name,
  locale: user.locale,
  timeZone: user.time_zone,
  avatarUrl: user.avatar_url,
  mfaEnabled: false,
  createdAt: user.created_at.toISOString(),
})

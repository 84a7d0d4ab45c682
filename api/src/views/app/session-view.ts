import type { ListedSession } from '@matte/core/identity/session/session-queries'
import type { Static } from 'typebox'
import type { sessionSchema } from '../../schemas/app/auth.ts'

export const toSessionView = (session: ListedSession, currentId: string): Static<typeof sessionSchema> => ({
  id: session.id,
  createdAt: session.created_at.toISOString(),
  lastUsedAt: session.last_used_at.toISOString(),
  ipAddress: session.ip_address,
  userAgent: session.user_agent,
  current: session.id === currentId,
})

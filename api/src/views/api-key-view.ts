import type { ApiKeyRow } from '@matte/core/workspace/api-key-queries'
import type { Static } from 'typebox'
import type { apiKeySchema } from '../schemas/api-key.ts'

export const toApiKeyView = (key: ApiKeyRow): Static<typeof apiKeySchema> => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  lastFour: key.last_four,
  scopes: key.scopes,
  createdAt: key.created_at.toISOString(),
  expiresAt: key.expires_at?.toISOString() ?? null,
  lastUsedAt: key.last_used_at?.toISOString() ?? null,
  revokedAt: key.revoked_at?.toISOString() ?? null,
})

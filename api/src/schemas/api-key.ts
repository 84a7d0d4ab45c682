import type { ApiKeyRow } from '@matte/core/workspace/api-key-queries'
import { type Scope, scopes } from '@matte/core/workspace/scope'
import { type Static, Type } from 'typebox'
import { named, nullable, oneOf, time, uuid } from './schema.ts'

/** An API key without the key itself, which is not stored. */
export const apiKeySchema = named(
  'ApiKey',
  {
    id: uuid(),
    name: Type.String(),
    prefix: Type.String(),
    lastFour: Type.String({ description: 'Last four characters of the key.' }),
    scopes: Type.Array(oneOf(scopes)),
    createdAt: time(),
    expiresAt: nullable(time()),
    lastUsedAt: nullable(time('Written some seconds late.')),
    revokedAt: nullable(time()),
  },
  {
    id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
    name: 'production',
    prefix: 'service_live_',
    lastFour: '9xQ2',
    scopes: ['uploads:write', 'tasks:read', 'tasks:write'],
    createdAt: '2026-11-01T08:00:00.000Z',
    expiresAt: null,
    lastUsedAt: '2026-11-21T09:30:00.000Z',
    revokedAt: null,
  },
)

export const toApiKeyView = (key: ApiKeyRow): Static<typeof apiKeySchema> => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  lastFour: key.last_four,
  scopes: key.scopes as Scope[], // no other value is written
  createdAt: key.created_at.toISOString(),
  expiresAt: key.expires_at?.toISOString() ?? null,
  lastUsedAt: key.last_used_at?.toISOString() ?? null,
  revokedAt: key.revoked_at?.toISOString() ?? null,
})

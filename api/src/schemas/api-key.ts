import type { ApiKeyRow } from '@matte/core/workspace/api-key-queries'
import { type Scope, scopes } from '@matte/core/workspace/scope'
import { type Static, Type } from 'typebox'
import { named, nullable, oneOf, time, uuid } from './schema.ts'

const exampleKey = {
  id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
  name: 'production',
  prefix: 'service_live_',
  lastFour: '9xQ2',
  scopes: ['uploads:write', 'tasks:read', 'tasks:write'] satisfies Scope[],
  createdAt: '2026-11-01T08:00:00.000Z',
  expiresAt: null,
  lastUsedAt: '2026-11-21T09:30:00.000Z',
  revokedAt: null,
}

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
  exampleKey,
)

const addressSchema = Type.Object({
  address: Type.String({ description: 'IPv4 or IPv6, as the trusted proxies name the client.' }),
  lastUsedAt: time(),
})

/** For members only: a key that leaks must not reveal from where the others are used. */
export const memberApiKeySchema = named(
  'MemberApiKey',
  {
    ...apiKeySchema.properties,
    allowedNetworks: Type.Array(Type.String(), {
      description: 'Networks that the key may be used from, in CIDR notation; empty: any address.',
    }),
    recentAddresses: Type.Array(addressSchema, {
      description:
        'The latest 5 addresses that used the key, the latest first; kept for 90 days, written some seconds late.',
    }),
  },
  {
    ...exampleKey,
    allowedNetworks: ['203.0.113.0/24', '2001:db8::7/128'],
    recentAddresses: [{ address: '203.0.113.7', lastUsedAt: '2026-11-21T09:30:00.000Z' }],
  },
)

export const toMemberApiKeyView = (key: ApiKeyRow): Static<typeof memberApiKeySchema> => ({
  ...toApiKeyView(key),
  allowedNetworks: key.allowed_networks,
  recentAddresses: (key.recent_addresses ?? []).map(({ address, at }) => ({
    address,
    lastUsedAt: new Date(at).toISOString(),
  })),
})

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

import { Type } from 'typebox'
import { named, nullable } from './schema.ts'

const time = () => Type.String({ format: 'date-time' })

/** An API key (D11): all but the key, which is stored nowhere. */
export const apiKeySchema = named(
  'ApiKey',
  {
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    prefix: Type.String(),
    lastFour: Type.String({ description: 'Last four characters of the key.' }),
    scopes: Type.Array(Type.String()),
    createdAt: time(),
    expiresAt: nullable(time()),
    lastUsedAt: nullable({ ...time(), description: 'Written some seconds late.' }),
    revokedAt: nullable(time()),
  },
  {
    examples: [
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
    ],
  },
)

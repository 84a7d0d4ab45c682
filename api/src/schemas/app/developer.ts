import { scopes } from '@matte/core/workspace/scope'
import { Type } from 'typebox'
import { apiKeySchema } from '../api-key.ts'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf, withDefault } from '../schema.ts'

const nameLengthMax = 200
/** A day. */
const overlapSecondsDefault = 86_400
/** A week: who has not given the new one to its users by then has forgotten it. */
const overlapSecondsMax = 7 * 24 * 60 * 60

const example = {
  id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
  name: 'production',
  prefix: 'service_live_',
  lastFour: '9xQ2',
  scopes: ['uploads:write', 'tasks:read', 'tasks:write'],
  createdAt: '2026-11-01T08:00:00.000Z',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
}

/** A new one, which is shown this once; the answer to a repeated request lacks it (D42). */
export const newApiKeySchema = named(
  'NewApiKey',
  {
    ...apiKeySchema.properties,
    key: Type.Optional(Type.String({ description: 'The key. Shown once, and not on a replay.' })),
  },
  { examples: [{ ...example, key: 'service_live_0123456789abcdefghijABCDEFGHIJ01xK9xQ2' }] },
)

export const apiKeyRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: nameLengthMax, pattern: patterns.storable }),
    scopes: withDefault(
      nullable(
        Type.Array(oneOf(scopes), {
          minItems: 1,
          maxItems: 2 * scopes.length,
          description: 'Scopes of the key; without a list it has all.',
        }),
      ),
      [...scopes],
    ),
    expiresAt: Type.Optional(
      nullable(Type.String({ format: 'date-time', description: 'In the future; without it the key has no end.' })),
    ),
  },
  { examples: [{ name: 'production', scopes: example.scopes, expiresAt: '2099-01-01T00:00:00Z' }] },
)

const overlap = (description: string) =>
  withDefault(nullable(Type.Integer({ minimum: 0, maximum: overlapSecondsMax, description })), overlapSecondsDefault)

export const rollRequest = Type.Object(
  { overlapSeconds: overlap('The old key works for so long as well; 0 revokes it at once.') },
  { examples: [{ overlapSeconds: 3_600 }] },
)

export const secretRotationRequest = Type.Object(
  {
    overlapSeconds: overlap('The secret before stays in force for so long as well; 0 ends it at once.'),
  },
  { examples: [{ overlapSeconds: 3_600 }] },
)

export const rotatedSigningSecretSchema = named(
  'RotatedSigningSecret',
  {
    signingSecret: Type.String({ description: 'The new secret.' }),
    previousSecretExpiresAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'Until then `X-Service-Signature` is keyed by the secret before; null: there is none.',
      }),
    ),
  },
  {
    examples: [
      {
        signingSecret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=',
        previousSecretExpiresAt: '2026-11-22T09:30:00.000Z',
      },
    ],
  },
)

export const eventSchema = named(
  'WebhookEvent',
  {
    event: Type.String(),
    description: Type.String({ description: 'When it comes.' }),
    subscribable: Type.Boolean({ description: 'False: it is sent on request.' }),
    schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the body.' }),
    example: Type.Object({}, { additionalProperties: true, description: 'A body.' }),
  },
  {
    examples: [
      {
        event: 'welcome',
        description: 'Your account is ready.',
        subscribable: true,
        schema: {
          type: 'object',
          properties: { event: { const: 'welcome' }, message: { type: 'string' } },
          required: ['event', 'message'],
        },
        example: { event: 'welcome', message: 'Welcome!' },
      },
    ],
  },
)

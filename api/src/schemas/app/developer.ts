import { bodySchemaOf, eventCatalog, testBodySchema, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { networksMax } from '@matte/core/workspace/key/allowed-networks'
import { scopes } from '@matte/core/workspace/scope'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { memberApiKeySchema } from '../api-key.ts'
import { named, nullable, oneOf, time, withDefault } from '../schema.ts'

const nameLengthMax = 200
const overlapSecondsDefault = 86_400
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
  allowedNetworks: ['203.0.113.0/24'],
  recentAddresses: [],
}

/** The key is shown once; a replay lacks it. */
export const newApiKeySchema = named(
  'NewApiKey',
  {
    ...memberApiKeySchema.properties,
    key: Type.Optional(Type.String({ description: 'The key. Shown once, and not on a replay.' })),
  },
  { ...example, key: 'service_live_0123456789abcdefghijABCDEFGHIJ01xK9xQ2' },
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
      nullable(
        time(
          'A time in the future, at most `maxKeyDays` of the team ahead. Without it the key expires at that limit, or ' +
            'never if there is none.',
        ),
      ),
    ),
    allowedNetworks: Type.Optional(
      nullable(
        Type.Array(Type.String({ minLength: 2, maxLength: 64 }), {
          minItems: 1,
          maxItems: networksMax,
          description:
            'IPv4 and IPv6 addresses or networks (CIDR) that the key may be used from. Requests from elsewhere get ' +
            '`API_KEY_INVALID`. Without it the key may be used from any address.',
        }),
      ),
    ),
  },
  {
    examples: [
      {
        ...{ name: 'production', scopes: example.scopes },
        expiresAt: '2099-01-01T00:00:00Z',
        allowedNetworks: ['203.0.113.0/24', '2001:db8::7'],
      },
    ],
  },
)

const overlap = (description: string) =>
  withDefault(nullable(Type.Integer({ minimum: 0, maximum: overlapSecondsMax, description })), overlapSecondsDefault)

export const rollRequest = Type.Object(
  { overlapSeconds: overlap('Seconds in which the old key still works; 0 revokes it immediately.') },
  { examples: [{ overlapSeconds: 3_600 }] },
)

export const secretRotationRequest = Type.Object(
  {
    overlapSeconds: overlap('Seconds in which the previous secret stays valid; 0 ends it immediately.'),
  },
  { examples: [{ overlapSeconds: 3_600 }] },
)

export const rotatedSigningSecretSchema = named(
  'RotatedSigningSecret',
  {
    signingSecret: Type.String({ description: 'The new secret.' }),
    previousSecretExpiresAt: nullable(
      time('`X-Service-Signature` uses the previous secret until then; null: there is none.'),
    ),
  },
  {
    signingSecret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=',
    previousSecretExpiresAt: '2026-11-22T09:30:00.000Z',
  },
)

export const eventSchema = named(
  'WebhookEvent',
  {
    event: Type.String(),
    description: Type.String({ description: 'When it is sent.' }),
    subscribable: Type.Boolean({ description: 'False: it is sent only on request.' }),
    schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the body.' }),
    example: Type.Object({}, { additionalProperties: true, description: 'Example body.' }),
  },
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
)

type EventView = Static<typeof eventSchema>

export function toEventViews(): EventView[] {
  const test = {
    event: testEvent,
    description: 'Sent by the Test button of an endpoint, with the same signature. Its body is not flat.',
    subscribable: false,
    ...toBody(testBodySchema),
  }
  return [
    ...webhookEvents.map((event) => {
      const { description } = eventCatalog[event]
      return { event, description, subscribable: true, ...toBody(bodySchemaOf(event)) }
    }),
    test,
  ]
}

const toBody = ({ examples, ...schema }: { readonly examples: readonly object[] }) => ({
  schema,
  example: examples[0] ?? {},
})

import { webhookEvents } from '@matte/core/webhook/events'
import { type Role, roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { patterns } from './patterns.ts'
import { named, nullable, oneOf, withDefault } from './schema.ts'

const time = () => Type.String({ format: 'date-time' })

/** Characters of an endpoint's own note. */
const descriptionLengthMax = 500
/** A day (D63). */
const overlapSecondsDefault = 86_400
/** A week: who has not changed a receiver by then has forgotten it. */
const overlapSecondsMax = 7 * 24 * 60 * 60

const fields = {
  id: Type.String({ format: 'uuid' }),
  targetUrl: Type.String({ description: 'As you wrote it.' }),
  eventTypes: Type.Array(oneOf(webhookEvents), { description: 'Subscribed events; empty means all.' }),
  status: oneOf(['enabled', 'disabled'], {
    description: 'Nothing is sent to a disabled endpoint: its deliveries are `paused`, and kept.',
  }),
  disabledReason: nullable(
    Type.String({ description: '`OWNER`: you disabled it. `FAILING`: it did not answer with success for days.' }),
  ),
  description: nullable(Type.String({ description: 'Your own note.' })),
  createdAt: time(),
  updatedAt: time(),
  lastDeliveryAt: nullable({ ...time(), description: 'End of the latest attempt.' }),
  lastDeliveryStatus: nullable(Type.String({ description: 'How it went: `delivered` or `failed`.' })),
  pausedSince: nullable({
    ...time(),
    description: 'Time of the oldest event that is kept as `paused`, for `since` of recover; null: there is none.',
  }),
  droppedDeliveries: Type.Integer({
    description: 'Paused deliveries beyond 100,000, deleted oldest first since the endpoint was disabled.',
  }),
  createdBy: Type.Optional(
    nullable(
      Type.Object(
        {
          userId: Type.String({ format: 'uuid' }),
          email: Type.String(),
          name: nullable(Type.String()),
          role: Type.Unsafe<Role | null>({
            type: ['string', 'null'],
            enum: [...roles, null],
            description: 'Null: no longer a member.',
          }),
        },
        {
          description:
            'In the App API: the member who made it, or made the API key that did. Null: an operator, a deleted ' +
            'account, or a maker of before version 0.2.',
        },
      ),
    ),
  ),
}

const example = {
  id: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
  targetUrl: 'https://example.com/hooks/matte',
  eventTypes: ['task.succeeded', 'task.failed'],
  status: 'enabled',
  disabledReason: null,
  description: 'Shop',
  createdAt: '2026-11-21T09:30:00.000Z',
  updatedAt: '2026-11-21T09:30:00.000Z',
  lastDeliveryAt: null,
  lastDeliveryStatus: null,
  pausedSince: null,
  droppedDeliveries: 0,
}

const signingSecret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ='

/** A webhook endpoint (D60). */
export const webhookEndpointSchema = named('WebhookEndpoint', fields, { examples: [example] })

/** A new one, whose secret is shown this once; the answer to a repeated request lacks it (D42). */
export const newWebhookEndpointSchema = named(
  'NewWebhookEndpoint',
  {
    ...fields,
    signingSecret: Type.Optional(
      Type.String({ description: 'Keys the signatures of what is sent here. Shown once, and not on a replay.' }),
    ),
  },
  { examples: [{ ...example, signingSecret }] },
)

export const rotatedWebhookEndpointSchema = named(
  'RotatedWebhookEndpoint',
  {
    ...fields,
    signingSecret: Type.String({ description: 'The new secret, shown once.' }),
    previousSecretExpiresAt: nullable({
      ...time(),
      description: 'Until then `X-Service-Signature` is keyed by the secret before; null: it ended at once.',
    }),
  },
  { examples: [{ ...example, signingSecret, previousSecretExpiresAt: '2026-11-22T09:30:00.000Z' }] },
)

export const deletedSchema = named(
  'Deleted',
  { id: Type.String({ format: 'uuid' }), deleted: Type.Unsafe<true>({ type: 'boolean', enum: [true] }) },
  { examples: [{ id: example.id, deleted: true }] },
)

const targetUrl = Type.String({
  format: 'uri',
  description: 'http or https. Private network addresses are refused.',
})
// A list with every event twice has room; what is named twice is subscribed once.
const eventTypes = nullable(
  Type.Array(oneOf(webhookEvents), {
    maxItems: 2 * webhookEvents.length,
    description: 'Events to subscribe to; an empty list means all.',
  }),
)
const description = Type.Optional(
  nullable(
    Type.String({
      maxLength: descriptionLengthMax,
      pattern: patterns.storable,
      description: 'Your own note; empty takes it away.',
    }),
  ),
)

/** The body of creation. */
export const webhookRequest = Type.Object(
  { targetUrl, eventTypes: withDefault(eventTypes, []), description },
  { examples: [{ targetUrl: example.targetUrl, eventTypes: example.eventTypes }] },
)

/** The body of a change: what is absent stays. */
export const webhookPatch = Type.Object(
  {
    targetUrl: Type.Optional(nullable(targetUrl)),
    eventTypes: Type.Optional(eventTypes),
    description,
    status: Type.Optional(
      Type.Unsafe<'enabled' | 'disabled' | null>({ type: ['string', 'null'], enum: ['enabled', 'disabled', null] }),
    ),
  },
  { examples: [{ eventTypes: [], status: 'enabled' }] },
)

export const rotateRequest = Type.Object(
  {
    overlapSeconds: withDefault(
      nullable(
        Type.Integer({
          minimum: 0,
          maximum: overlapSecondsMax,
          description: 'The secret before stays in force for so long as well; 0 ends it at once.',
        }),
      ),
      overlapSecondsDefault,
    ),
  },
  { examples: [{ overlapSeconds: 3_600 }] },
)

import type { ShownMaker } from '@matte/core/webhook/endpoint/endpoint-maker'
import type { EndpointRow } from '@matte/core/webhook/endpoint/endpoint-queries'
import { headerNameLengthMax, headerValueLengthMax, ownHeadersMax } from '@matte/core/webhook/endpoint/own-headers'
import { collapseEventTypes, eventTypes as subscribable } from '@matte/core/webhook/event-types'
import { roles } from '@matte/core/workspace/role'
import { type Static, Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, nullableOneOf, oneOf, time, uuid, withDefault } from './schema.ts'

const descriptionLengthMax = 500
const overlapSecondsDefault = 86_400
const overlapSecondsMax = 7 * 24 * 60 * 60

const fields = {
  id: uuid(),
  targetUrl: Type.String({ description: 'As you wrote it.' }),
  eventTypes: Type.Array(oneOf(subscribable), {
    description: 'Subscribed events and patterns such as `task.*`; empty means all.',
  }),
  headers: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Your own headers of each request. Values are masked: at most the last four characters are shown.',
  }),
  status: oneOf(['enabled', 'disabled'], {
    description: 'Deliveries to a disabled endpoint are `paused`.',
  }),
  disabledReason: nullableOneOf(['OWNER', 'FAILING'], {
    description: '`OWNER`: you disabled it. `FAILING`: all attempts failed for days.',
  }),
  description: nullable(Type.String({ description: 'Your own note.' })),
  createdAt: time(),
  updatedAt: time(),
  lastDeliveryAt: nullable(time('End of the latest attempt.')),
  lastDeliveryStatus: nullableOneOf(['delivered', 'failed'], { description: 'Result of the latest attempt.' }),
  pausedSince: nullable(time('Time of the oldest `paused` event, for `since` of recover; null: there is none.')),
  droppedDeliveries: Type.Integer({
    description: 'Paused deliveries beyond 100,000, deleted oldest first since the endpoint was disabled.',
  }),
  createdBy: Type.Optional(
    nullable(
      Type.Object(
        {
          userId: uuid(),
          email: Type.String(),
          name: nullable(Type.String()),
          role: nullableOneOf(roles, { description: 'Null: no longer a member.' }),
        },
        {
          description:
            'Only in the App API: the member who created it, directly or with an API key. Null: an operator, a ' +
            'deleted account, or created before version 0.2.',
        },
      ),
    ),
  ),
}

const example = {
  id: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
  targetUrl: 'https://example.com/hooks/matte',
  eventTypes: ['task.succeeded', 'task.failed'],
  headers: { 'X-Token': '••••1234' },
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

export const webhookEndpointSchema = named('WebhookEndpoint', fields, example)

/** The secret is shown once; a replay lacks it. */
export const newWebhookEndpointSchema = named(
  'NewWebhookEndpoint',
  {
    ...fields,
    signingSecret: Type.Optional(
      Type.String({ description: 'Key of the signatures sent to this endpoint. Shown once, and not on a replay.' }),
    ),
  },
  { ...example, signingSecret },
)

export const rotatedWebhookEndpointSchema = named(
  'RotatedWebhookEndpoint',
  {
    ...fields,
    signingSecret: Type.String({ description: 'The new secret, shown once.' }),
    previousSecretExpiresAt: nullable(
      time('`X-Service-Signature` uses the previous secret until then; null: it ended immediately.'),
    ),
  },
  { ...example, signingSecret, previousSecretExpiresAt: '2026-11-22T09:30:00.000Z' },
)

export const deletedSchema = named(
  'Deleted',
  { id: uuid(), deleted: Type.Unsafe<true>({ type: 'boolean', enum: [true] }) },
  { id: example.id, deleted: true },
)

const targetUrl = Type.String({
  format: 'uri',
  description: 'http or https. Private network addresses are refused.',
})
// Allows each event twice; repeats are subscribed once.
const eventTypes = nullable(
  Type.Array(oneOf(subscribable), {
    maxItems: 2 * subscribable.length,
    description:
      'Events to subscribe to; an empty list means all. `task.*` means every event of tasks, also those of later versions.',
  }),
)
const headers = (maxProperties: number, description: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, string | null> | null>({
      type: ['object', 'null'],
      maxProperties,
      propertyNames: { maxLength: headerNameLengthMax, pattern: patterns.headerName },
      additionalProperties: {
        type: ['string', 'null'],
        maxLength: headerValueLengthMax,
        pattern: patterns.headerValue,
      },
      description,
    }),
  )
const headerRules =
  `At most ${ownHeadersMax}, names of up to 64 characters, values of up to 1,024 visible ASCII characters. Refused: ` +
  'headers that the service or the connection sets, such as `Host`, `Content-Type`, `webhook-*`, `X-Matte-*` and ' +
  '`Proxy-*`. Values are stored encrypted and never shown again.'
const description = Type.Optional(
  nullable(
    Type.String({
      maxLength: descriptionLengthMax,
      pattern: patterns.storable,
      description: 'Your own note; empty removes it.',
    }),
  ),
)

export const webhookRequest = Type.Object(
  {
    targetUrl,
    eventTypes: withDefault(eventTypes, []),
    headers: headers(ownHeadersMax, `Your own headers of each request. ${headerRules}`),
    description,
  },
  {
    examples: [
      {
        ...{ targetUrl: example.targetUrl, eventTypes: ['task.*', 'batch.completed'] },
        headers: { 'X-Token': 'a-secret-token-1234' },
      },
    ],
  },
)

export const webhookPatch = Type.Object(
  {
    targetUrl: Type.Optional(nullable(targetUrl)),
    eventTypes: Type.Optional(eventTypes),
    headers: headers(
      2 * ownHeadersMax,
      'Your own headers to add or replace; null removes one, and the others stay. With a `targetUrl` of another host, ' +
        `each header must be given again or removed. ${headerRules}`,
    ),
    description,
    status: Type.Optional(nullableOneOf(['enabled', 'disabled'])),
  },
  { examples: [{ eventTypes: [], headers: { 'X-Token': null }, status: 'enabled' }] },
)

export const rotateRequest = Type.Object(
  {
    overlapSeconds: withDefault(
      nullable(
        Type.Integer({
          minimum: 0,
          maximum: overlapSecondsMax,
          description: 'Seconds in which the previous secret stays valid; 0 ends it immediately.',
        }),
      ),
      overlapSecondsDefault,
    ),
  },
  { examples: [{ overlapSeconds: 3_600 }] },
)

export const signingSecretSchema = named(
  'SigningSecret',
  { signingSecret: Type.String({ description: '`whsec_` and base64; the whole text keys X-Service-Signature.' }) },
  { signingSecret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=' },
)

type WebhookView = Static<typeof webhookEndpointSchema>

/** `createdBy`: only for responses that name the creator. */
export const toWebhookView = (endpoint: EndpointRow, createdBy?: ShownMaker | null): WebhookView => ({
  id: endpoint.id,
  targetUrl: endpoint.target_url,
  eventTypes: collapseEventTypes(endpoint.event_types),
  headers: endpoint.headers_masked ?? {},
  status: endpoint.status,
  disabledReason: endpoint.disabled_reason,
  description: endpoint.description,
  createdAt: endpoint.created_at.toISOString(),
  updatedAt: endpoint.updated_at.toISOString(),
  lastDeliveryAt: endpoint.last_delivery_at?.toISOString() ?? null,
  lastDeliveryStatus: endpoint.last_delivery_status,
  pausedSince: endpoint.paused_since?.toISOString() ?? null,
  droppedDeliveries: endpoint.dropped_deliveries,
  ...(createdBy !== undefined && { createdBy }),
})

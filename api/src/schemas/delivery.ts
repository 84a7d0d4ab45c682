import { attemptErrors } from '@matte/core/webhook/attempt-outcome'
import type { ShownEvent } from '@matte/core/webhook/delivery/find-event'
import { deliveryStatuses } from '@matte/core/webhook/delivery/list-deliveries'
import type { DetailedDelivery, ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import { recoverableStatuses } from '@matte/core/webhook/delivery/recover-deliveries'
import { testEvent } from '@matte/core/webhook/event-catalog'
import { eventTypes } from '@matte/core/webhook/event-types'
import { webhookEvents } from '@matte/core/webhook/events'
import { type Static, Type } from 'typebox'
import { pageQuery, spanQuery } from './page.ts'
import { count, named, nullable, oneOf, refer, time, uuid, withDefault } from './schema.ts'

const attemptFields = {
  attempt: Type.Integer({ description: 'Counts from 1.' }),
  endedAt: time(),
  durationMs: Type.Integer(),
  statusCode: nullable(Type.Integer({ description: 'Null if there was no response.' })),
  error: nullable(
    Type.String({ enum: [...attemptErrors, null], description: 'Why it counts as failed; null when delivered.' }),
  ),
  responseBody: nullable(
    Type.String({
      description:
        'First 16 KiB of the response, only of the latest attempt; null without a response, and for private ' +
        'targets that the operator allowed.',
    }),
  ),
}

const headers = (description: string) =>
  Type.Unsafe<Record<string, string> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description,
  })

const fields = {
  id: uuid('The header `webhook-id` of each attempt.'),
  event: oneOf([...webhookEvents, testEvent]),
  endpointId: nullable(uuid('Null: it goes to a `callbackUrl`.')),
  taskId: nullable(uuid()),
  batchId: nullable(uuid()),
  targetUrl: Type.String(),
  status: oneOf(deliveryStatuses, {
    description:
      '`pending` until it is delivered, out of retries (`exhausted`), or `canceled`. `paused`: its endpoint was ' +
      'disabled; recover or redeliver sends it.',
  }),
  requestBody: Type.String({ description: 'The exact bytes sent.' }),
  attemptCount: Type.Integer({ description: 'Attempts begun.' }),
  nextAttemptAt: nullable(time('Null when no attempt is scheduled, or during an attempt.')),
  createdAt: time(),
  completedAt: nullable(time()),
  sample: Type.Boolean({ description: 'A sample event that you requested.' }),
}
const attemptsDescription = 'The latest 20 ended attempts, oldest first.'

const exampleAttempt = {
  attempt: 1,
  endedAt: '2026-11-21T09:30:00.300Z',
  durationMs: 280,
  statusCode: 503,
  error: 'STATUS',
  responseBody: 'Down for maintenance.',
}
const example = {
  id: '1c4b5f0e-6a53-4c6e-8a0e-2f4f7a1f9a77',
  event: 'task.succeeded',
  endpointId: '6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11',
  taskId: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
  batchId: null,
  targetUrl: 'https://example.com/hooks/matte',
  status: 'pending',
  requestBody:
    '{"event":"task.succeeded","task_id":"0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1",' +
    '"message":"The cut-out is ready."}',
  attemptCount: 1,
  nextAttemptAt: '2026-11-21T09:32:00.300Z',
  createdAt: '2026-11-21T09:30:00.000Z',
  completedAt: null,
  sample: false,
  attempts: [exampleAttempt],
}

export const deliverySchema = named(
  'WebhookDelivery',
  { ...fields, attempts: Type.Array(Type.Object(attemptFields), { description: attemptsDescription }) },
  example,
)

const detailedAttempt = Type.Object({
  ...attemptFields,
  requestHeaders: headers(
    'Headers of the request, with masked values of your own ones. Null: nothing was sent, or an earlier version sent it.',
  ),
  responseHeaders: headers(
    'Up to 32 headers of the response and at most 4 KiB, with masked values of cookies; null without a response, and for ' +
      'private targets that the operator allowed.',
  ),
})

export const deliveryDetailsSchema = named(
  'WebhookDeliveryDetails',
  { ...fields, attempts: Type.Array(detailedAttempt, { description: attemptsDescription }) },
  {
    ...example,
    attempts: [
      {
        ...exampleAttempt,
        requestHeaders: {
          'Content-Type': 'application/json',
          'webhook-id': '1c4b5f0e-6a53-4c6e-8a0e-2f4f7a1f9a77',
          'X-Token': '••••1234',
        },
        responseHeaders: { 'content-type': 'text/plain', 'retry-after': '120' },
      },
    ],
  },
)

export const webhookEventSchema = named(
  'WebhookEventDeliveries',
  {
    id: uuid('The `webhook-id` that you asked for.'),
    event: fields.event,
    taskId: fields.taskId,
    batchId: fields.batchId,
    sample: fields.sample,
    requestBody: fields.requestBody,
    createdAt: time('Time of the event.'),
    deliveries: Type.Array(refer(deliverySchema), {
      description: 'Every delivery of the event, oldest first: one per endpoint, and one to the callback URL.',
    }),
  },
  {
    ...{ id: example.id, event: example.event, taskId: example.taskId, batchId: null, sample: false },
    ...{ requestBody: example.requestBody, createdAt: example.createdAt, deliveries: [example] },
  },
)

export const sampleRequest = Type.Object(
  { event: oneOf(webhookEvents, { description: 'The event to send a sample of.' }) },
  { examples: [{ event: 'task.succeeded' }] },
)

export const deliveryQuery = Type.Object({
  ...pageQuery,
  status: Type.Optional(oneOf(deliveryStatuses)),
  event: Type.Optional(oneOf([...webhookEvents, testEvent])),
  ...spanQuery,
})

export const recoverRequest = Type.Object(
  {
    since: Type.String({
      description:
        'YYYY-MM-DD (UTC) or an ISO 8601 timestamp: selects deliveries whose latest attempt failed since, and ' +
        'paused deliveries of events since. `pausedSince` of the endpoint selects all paused ones.',
    }),
    until: Type.Optional(
      nullable(
        Type.String({
          description:
            'End of the time range in the same form; a day and a timestamp are included. Without it the range is open.',
        }),
      ),
    ),
    eventTypes: Type.Optional(
      nullable(
        Type.Array(oneOf(eventTypes), {
          maxItems: 2 * eventTypes.length,
          description: 'Only these events; patterns such as `task.*` are allowed. An empty list means all.',
        }),
      ),
    ),
    statuses: Type.Optional(
      nullable(
        Type.Array(oneOf(recoverableStatuses), {
          minItems: 1,
          maxItems: 2 * recoverableStatuses.length,
          description:
            'Only deliveries with these statuses; `pending` means waiting for a retry. Without it all three. A ' +
            '`canceled` delivery cannot be sent again.',
        }),
      ),
    ),
    dryRun: withDefault(nullable(Type.Boolean({ description: 'True: only count.' })), false),
  },
  {
    examples: [
      {
        ...{ since: '2026-11-21T09:00:00Z', until: '2026-11-21T11:00:00Z', eventTypes: ['task.*'] },
        ...{ statuses: ['exhausted'], dryRun: true },
      },
    ],
  },
)

export const recoverySchema = named(
  'WebhookRecovery',
  {
    since: time(),
    until: nullable(time('The first moment after the time range; null: it is open.')),
    dryRun: Type.Boolean(),
    count: count('Deliveries that are sent again, or would be.'),
    more: Type.Boolean({ description: 'More than 10,000 match, the maximum per request: send it again.' }),
  },
  { since: '2026-11-21T09:00:00.000Z', until: null, dryRun: true, count: 42, more: false },
)

type DeliveryView = Static<typeof deliverySchema>

const toFields = (delivery: Omit<ShownDelivery, 'attempts'>): Omit<DeliveryView, 'attempts'> => ({
  id: delivery.id,
  event: delivery.event as DeliveryView['event'], // no other value is written
  endpointId: delivery.endpoint_id,
  taskId: delivery.task_id,
  batchId: delivery.batch_id,
  targetUrl: delivery.target_url,
  status: delivery.status,
  requestBody: delivery.body,
  attemptCount: delivery.attempt,
  nextAttemptAt: nextAttemptAt(delivery)?.toISOString() ?? null,
  createdAt: delivery.created_at.toISOString(),
  completedAt: delivery.status === 'paused' ? null : (delivery.completed_at?.toISOString() ?? null),
  sample: delivery.sample,
})

const toAttemptView = (attempt: ShownDelivery['attempts'][number]): DeliveryView['attempts'][number] => ({
  attempt: attempt.attempt,
  endedAt: attempt.at.toISOString(),
  durationMs: attempt.duration_ms,
  statusCode: attempt.status_code,
  error: attempt.error,
  responseBody: attempt.response_body,
})

export const toDeliveryView = (delivery: ShownDelivery): DeliveryView => ({
  ...toFields(delivery),
  attempts: delivery.attempts.map(toAttemptView),
})

export const toDeliveryDetailsView = (delivery: DetailedDelivery): Static<typeof deliveryDetailsSchema> => ({
  ...toFields(delivery),
  attempts: delivery.attempts.map((attempt) => ({
    ...toAttemptView(attempt),
    requestHeaders: attempt.request_headers,
    responseHeaders: attempt.response_headers,
  })),
})

export const toWebhookEventView = ({ delivery, deliveries }: ShownEvent): Static<typeof webhookEventSchema> => {
  const { id, event, taskId, batchId, sample, requestBody, createdAt } = toFields(delivery)
  return { id, event, taskId, batchId, sample, requestBody, createdAt, deliveries: deliveries.map(toDeliveryView) }
}

const nextAttemptAt = ({ status, claimed_until, due_at }: Omit<ShownDelivery, 'attempts'>): Date | null =>
  status === 'pending' && claimed_until === null ? due_at : null

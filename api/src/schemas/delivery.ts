import { attemptErrors } from '@matte/core/webhook/attempt-outcome'
import { deliveryStatuses } from '@matte/core/webhook/delivery/list-deliveries'
import type { ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import { testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { type Static, Type } from 'typebox'
import { pageQuery, spanQuery } from './page.ts'
import { count, named, nullable, oneOf, time, uuid, withDefault } from './schema.ts'

const attempt = Type.Object({
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
})

export const deliverySchema = named(
  'WebhookDelivery',
  {
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
    attempts: Type.Array(attempt, { description: 'The latest 20 ended attempts, oldest first.' }),
  },
  {
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
    attempts: [
      {
        attempt: 1,
        endedAt: '2026-11-21T09:30:00.300Z',
        durationMs: 280,
        statusCode: 503,
        error: 'STATUS',
        responseBody: 'Down for maintenance.',
      },
    ],
  },
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
    dryRun: withDefault(nullable(Type.Boolean({ description: 'True: only count.' })), false),
  },
  { examples: [{ since: '2026-11-21T09:00:00Z', dryRun: true }] },
)

export const recoverySchema = named(
  'WebhookRecovery',
  {
    since: time(),
    dryRun: Type.Boolean(),
    count: count('Deliveries that are sent again, or would be.'),
    more: Type.Boolean({ description: 'More than 10,000 match, the maximum per request: send it again.' }),
  },
  { since: '2026-11-21T09:00:00.000Z', dryRun: true, count: 42, more: false },
)

type DeliveryView = Static<typeof deliverySchema>

export const toDeliveryView = (delivery: ShownDelivery): DeliveryView => ({
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
  attempts: delivery.attempts.map((attempt) => ({
    attempt: attempt.attempt,
    endedAt: attempt.at.toISOString(),
    durationMs: attempt.duration_ms,
    statusCode: attempt.status_code,
    error: attempt.error,
    responseBody: attempt.response_body,
  })),
})

const nextAttemptAt = ({ status, claimed_until, due_at }: ShownDelivery): Date | null =>
  status === 'pending' && claimed_until === null ? due_at : null

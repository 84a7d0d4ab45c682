import { attemptErrors } from '@matte/core/webhook/attempt-outcome'
import { deliveryStatuses } from '@matte/core/webhook/delivery/list-deliveries'
import { testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { Type } from 'typebox'
import { pageQuery, spanQuery } from './page.ts'
import { named, nullable, oneOf, withDefault } from './schema.ts'

const time = () => Type.String({ format: 'date-time' })
const uuid = () => Type.String({ format: 'uuid' })

const attempt = Type.Object({
  attempt: Type.Integer({ description: 'Counts from 1.' }),
  endedAt: time(),
  durationMs: Type.Integer(),
  statusCode: nullable(Type.Integer({ description: 'Null when nothing was answered.' })),
  error: nullable(
    Type.String({ enum: [...attemptErrors, null], description: 'Why it counts as failed; null when delivered.' }),
  ),
  responseBody: nullable(
    Type.String({
      description:
        'The first 16 KiB of the answer, of the latest attempt alone; null where none came, and for targets ' +
        'that only the operator let through.',
    }),
  ),
})

/** One event to one target, and what became of it. */
export const deliverySchema = named(
  'WebhookDelivery',
  {
    id: Type.String({ format: 'uuid', description: 'The header `webhook-id` of each attempt.' }),
    event: Type.String(),
    endpointId: nullable({ ...uuid(), description: 'Null: it goes to a `callbackUrl`.' }),
    taskId: nullable(uuid()),
    batchId: nullable(uuid()),
    targetUrl: Type.String(),
    status: oneOf(deliveryStatuses, {
      description:
        '`pending` until it is delivered, out of retries (`exhausted`), or `canceled`. `paused`: its endpoint was ' +
        'disabled; recover or redeliver sends it.',
    }),
    requestBody: Type.String({ description: 'What is sent, byte for byte.' }),
    attemptCount: Type.Integer({ description: 'Attempts begun.' }),
    nextAttemptAt: nullable({ ...time(), description: 'Null when none is to come, or one is being made.' }),
    createdAt: time(),
    completedAt: nullable(time()),
    attempts: Type.Array(attempt, { description: 'The latest 20 that have ended, oldest first.' }),
  },
  {
    examples: [
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
    ],
  },
)

/** Query of a list of deliveries. */
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
        'YYYY-MM-DD (UTC) or an ISO 8601 timestamp: what has failed since, by its latest attempt, and paused ' +
        'deliveries of events since; `pausedSince` of the endpoint takes all of these.',
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
    count: Type.Integer({ minimum: 0, description: 'Deliveries that are sent again, or would be.' }),
    more: Type.Boolean({ description: 'There are more than one request takes, 10,000: send it again.' }),
  },
  { examples: [{ since: '2026-11-21T09:00:00.000Z', dryRun: true, count: 42, more: false }] },
)

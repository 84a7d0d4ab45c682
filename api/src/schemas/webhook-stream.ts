import { webhookEvents } from '@matte/core/webhook/events'
import { Type } from 'typebox'
import { named, oneOf, time, uuid } from './schema.ts'

const secret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ='
const taskId = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
const id = '1c4b5f0e-6a53-4c6e-8a0e-2f4f7a1f9a77'

export const streamReadySchema = named(
  'WebhookStreamReady',
  {
    secret: Type.String({ description: 'Key of the signatures on this stream. No endpoint uses it.' }),
    since: time('Time of the service when the stream began.'),
    eventTypes: Type.Array(oneOf(webhookEvents), { description: 'The filter; empty means all events.' }),
    complete: Type.Boolean({
      description: 'False: some of the events after `Last-Event-ID` are no longer stored.',
    }),
  },
  { secret, since: '2026-11-21T09:30:00.000Z', eventTypes: [], complete: true },
)

export const streamedWebhookSchema = named(
  'StreamedWebhook',
  {
    event: Type.String(),
    body: Type.String({ description: 'The exact body to send.' }),
    headers: Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        description: 'The headers to send, with the signatures. A sample has `X-Matte-Sample: true`.',
      },
    ),
  },
  {
    event: 'task.succeeded',
    body: `{"event":"task.succeeded","task_id":"${taskId}","message":"The cut-out is ready."}`,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'Matte-Webhook/1',
      'X-Service-Signature': 't=1795253400,v1=6f1c0b1a9f0e4d0f8a53b2d7c9e14a77d0b6f0b7f3a1c5e2948d6b7a0c1e2f34',
      'webhook-id': id,
      'webhook-timestamp': '1795253400',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  },
)

export const triggerRequest = Type.Object(
  { event: oneOf(webhookEvents, { description: 'The event to send a sample of.' }) },
  { examples: [{ event: 'task.succeeded' }] },
)

export const triggeredSchema = named(
  'TriggeredWebhook',
  { id: uuid('The header `webhook-id` of the sample.'), event: oneOf(webhookEvents) },
  { id, event: 'task.succeeded' },
)

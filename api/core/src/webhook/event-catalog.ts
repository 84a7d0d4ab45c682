// Description, fields and example of each event. The types in event-fields.ts, the catalog of the App API and
// docs/events.md are derived from it.
import type { WebhookEvent } from './events.ts'

type Field = {
  readonly type: 'string' | 'integer'
  readonly format?: 'uuid' | 'date-time' | 'email' | 'uri'
  readonly description: string
  readonly example: string | number
}

type EventDefinition = {
  readonly description: string
  readonly fields: Readonly<Record<string, Field>>
}

const text = (description: string, example: string) => ({ type: 'string', description, example }) as const
const count = (description: string, example: number) => ({ type: 'integer', description, example }) as const
const message = (example: string) => text('Text for users; it may change.', example)
const id = (description: string) =>
  ({ type: 'string', format: 'uuid', description, example: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1' }) as const
const time = (description: string, example: string) =>
  ({ type: 'string', format: 'date-time', description, example }) as const
const amount = count('In minor units of the currency, such as cents.', 990)
const currency = text('ISO 4217.', 'EUR')

/** Every event that can be subscribed to, in the interface's order. */
export const eventCatalog = {
  'task.succeeded': {
    description: 'A task has succeeded; its result can be downloaded.',
    fields: { task_id: id('The task.'), message: message('The cut-out is ready.') },
  },
  'task.failed': {
    description: 'A task has failed, after its last attempt.',
    fields: {
      task_id: id('The task.'),
      reason: text('`failure.reason` of the task.', 'INPUT_UNREADABLE'),
      message: message('The image could not be read.'),
    },
  },
  'task.retention_cleanup': {
    description: 'Tasks were deleted at the end of their retention, at most once a day.',
    fields: {
      count: count('Deleted tasks.', 12),
      days: count('The retention in days.', 30),
      message: message('12 tasks were deleted after 30 days.'),
    },
  },
  'batch.completed': {
    description: 'The last task of a batch has ended.',
    fields: {
      batch_job_id: id('The batch.'),
      total_count: count('Tasks of the batch.', 5),
      success_count: count('Tasks that succeeded.', 4),
      failed_count: count('Tasks that failed or were canceled.', 1),
      message: message('4 of 5 tasks succeeded.'),
    },
  },
  'credits.low_balance': {
    description:
      'Available credits have fallen below the threshold, through a task, an expiry, a refund or an operator. Sent each ' +
      'time they do.',
    fields: { balance: count('Available credits.', 9), message: message('9 credits are left.') },
  },
  'credits.refunded': {
    description: 'Credits were taken back because their payment was refunded.',
    fields: { amount: count('Credits.', 100), message: message('100 credits were taken back.') },
  },
  'credits.pack_purchased': {
    description: 'A credit pack was bought and its credits can be spent.',
    fields: {
      credits: count('Credits of the pack.', 100),
      pack_name: text('The pack.', '100 credits'),
      message: message('You have bought 100 credits.'),
    },
  },
  'credits.expiration_warning': {
    description: 'Credits are about to expire.',
    fields: {
      credits: count('Credits that will expire.', 40),
      expiry_date: time('Time of the expiry.', '2026-12-01T00:00:00.000Z'),
      message: message('40 credits expire on 2026-12-01.'),
    },
  },
  'payment.succeeded': {
    description: 'A payment has succeeded.',
    fields: { order_id: id('The order.'), amount, currency, message: message('Your payment has succeeded.') },
  },
  'payment.failed': {
    description: 'A payment has failed.',
    fields: { order_id: id('The order.'), message: message('Your payment has failed.') },
  },
  'payment.disputed': {
    description:
      'The payer’s bank disputes a payment (a chargeback). The unspent credits of the payment are held, and a ' +
      'subscription that it paid for does not renew until the dispute is decided.',
    fields: {
      dispute_id: id('The dispute.'),
      order_id: id('The order that was paid.'),
      amount,
      currency,
      credits: count('Credits that are held.', 100),
      reason: text('The reason that the bank gives.', 'fraudulent'),
      message: message('The payment is disputed.'),
    },
  },
  'payment.dispute_closed': {
    description:
      'A dispute was decided. `won`: the held credits can be spent again. `lost`: the bank has returned the payment, ' +
      'and the unspent credits were taken back.',
    fields: {
      dispute_id: id('The dispute.'),
      order_id: id('The order that was paid.'),
      amount,
      currency,
      credits: count('Credits that were taken back; 0 if won.', 0),
      outcome: text('`won` or `lost`.', 'won'),
      message: message('The dispute was decided for the payment.'),
    },
  },
  'refund.succeeded': {
    description: 'Money was returned.',
    fields: {
      refund_id: id('The refund.'),
      order_id: id('The order that was paid.'),
      amount,
      currency,
      message: message('Your refund was made.'),
    },
  },
  'subscription.updated': {
    description:
      'The plan in force has changed: an activation, an upgrade, a downgrade on its date, an end, or an operator. A ' +
      'scheduled change is sent on its date.',
    fields: { plan: text('The plan in force from now on.', 'pro'), message: message('Your plan is now pro.') },
  },
  'subscription.canceled': {
    description: 'A subscription was canceled; it continues to the end of its period, or ended with a full refund.',
    fields: {
      period_end: time('Its end.', '2026-12-01T00:00:00.000Z'),
      message: message('Your subscription ends on 2026-12-01.'),
    },
  },
  'subscription.renewed': {
    description: 'A subscription was renewed for another period.',
    fields: {
      plan_name: text('The plan.', 'pro'),
      period_end: time('The end of the new period.', '2027-01-01T00:00:00.000Z'),
      message: message('Your subscription was renewed.'),
    },
  },
  'referral.reward': {
    description: 'The first task of a person whom you invited has succeeded.',
    fields: {
      credits: count('Credits granted to you.', 20),
      description: text('Reason.', 'Referral reward'),
      message: message('You have received 20 credits.'),
    },
  },
  'team.invitation': {
    description: 'You are invited to a team.',
    fields: {
      team_name: text('The team.', 'Studio'),
      inviter_email: {
        type: 'string',
        format: 'email',
        description: 'Address of the inviting member.',
        example: 'ann@example.com',
      },
      role: text('Your role there.', 'member'),
      invite_url: {
        type: 'string',
        format: 'uri',
        description: 'Opens the invitation.',
        example: 'https://app.example.com/invite?token=0f1e2d3c4b5a',
      },
      message: message('ann@example.com invites you to the team Studio.'),
    },
  },
  welcome: {
    description:
      'Your account is ready; sent to the first endpoint that subscribes to it, within 7 days after registration.',
    fields: { message: message('Welcome!') },
  },
  'security.password_changed': {
    description: 'Your password was changed.',
    fields: { message: message('Your password was changed.') },
  },
  'security.mfa_enabled': {
    description: 'Two-factor sign-in was switched on.',
    fields: { message: message('Two-factor sign-in is on.') },
  },
  'security.mfa_disabled': {
    description: 'Two-factor sign-in was switched off.',
    fields: { message: message('Two-factor sign-in is off.') },
  },
} as const satisfies Record<WebhookEvent, EventDefinition>

/** Sent on request; cannot be subscribed to. Its body is not flat. */
export const testEvent = 'test.webhook'

export const buildTestBody = (endpointId: string, at: Date): string =>
  JSON.stringify(testBody(endpointId, at.toISOString()))

const testBody = (endpointId: string, timestamp: string) => ({
  event: testEvent,
  timestamp,
  data: { message: 'This is a test of your webhook endpoint.', endpoint_id: endpointId },
})

/** JSON Schema 2020-12 of its body, with an example. */
export const testBodySchema = {
  type: 'object',
  properties: {
    event: { const: testEvent },
    timestamp: { type: 'string', format: 'date-time', description: 'Time of the request.' },
    data: {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'Text for users; it may change.' },
        endpoint_id: { type: 'string', format: 'uuid', description: 'The endpoint.' },
      },
      required: ['message', 'endpoint_id'],
    },
  },
  required: ['event', 'timestamp', 'data'],
  examples: [testBody('6f1a5f0e-0a53-4c6e-8a0e-2f4f7a1f9a11', '2026-11-21T09:30:00.000Z')],
}

/** JSON Schema 2020-12 of an event's body, with an example. */
export function bodySchemaOf(event: WebhookEvent) {
  const fields: Readonly<Record<string, Field>> = eventCatalog[event].fields
  return {
    type: 'object',
    properties: { event: { const: event }, ...mapValues(fields, ({ example: _example, ...schema }) => schema) },
    required: ['event', ...Object.keys(fields)],
    examples: [{ event, ...mapValues(fields, ({ example }) => example) }],
  }
}

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))

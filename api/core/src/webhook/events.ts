/** Every event of the interface, without `test.webhook`, which cannot be subscribed to. */
export const webhookEvents = [
  'task.succeeded',
  'task.failed',
  'task.retention_cleanup',
  'batch.completed',
  'credits.low_balance',
  'credits.refunded',
  'credits.pack_purchased',
  'credits.expiration_warning',
  'payment.succeeded',
  'payment.failed',
  'payment.disputed',
  'payment.dispute_closed',
  'refund.succeeded',
  'subscription.updated',
  'subscription.canceled',
  'subscription.renewed',
  'referral.reward',
  'team.invitation',
  'welcome',
  'security.password_changed',
  'security.mfa_enabled',
  'security.mfa_disabled',
] as const

export type WebhookEvent = (typeof webhookEvents)[number]

type PatternOf<E> = E extends `${infer Prefix}.${string}` ? `${Prefix}.*` : never

/** Every event with the same first word. */
export type EventPattern = PatternOf<WebhookEvent>

export const eventPatterns = [
  ...new Set(webhookEvents.flatMap((event) => (event.includes('.') ? [`${event.split('.', 1)[0]}.*`] : []))),
] as EventPattern[] // the type derives them from the same names

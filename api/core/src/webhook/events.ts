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

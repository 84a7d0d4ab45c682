// Bodies of the events that the service sends.

type Message = { message: string }

/** Fields of each event beside `event`. */
type Fields = {
  'task.succeeded': Message & { task_id: string }
  'task.failed': Message & { task_id: string; reason: string }
  'task.retention_cleanup': Message & { count: number; days: number }
  'batch.completed': Message & {
    batch_job_id: string
    total_count: number
    success_count: number
    failed_count: number
  }
  'credits.low_balance': Message & { balance: number }
  'credits.refunded': Message & { amount: number }
  'credits.pack_purchased': Message & { credits: number; pack_name: string }
  'credits.expiration_warning': Message & { credits: number; expiry_date: string }
  'payment.succeeded': Message & { order_id: string; amount: number; currency: string }
  'payment.failed': Message & { order_id: string }
  'refund.succeeded': Message & { refund_id: string; order_id: string; amount: number; currency: string }
  'subscription.updated': Message & { plan: string }
  'subscription.canceled': Message & { period_end: string }
  'subscription.renewed': Message & { plan_name: string; period_end: string }
  'referral.reward': Message & { credits: number; description: string }
  'team.invitation': Message & { team_name: string; inviter_email: string; role: string; invite_url: string }
  welcome: Message
  'security.password_changed': Message
  'security.mfa_enabled': Message
  'security.mfa_disabled': Message
  'test.webhook': { timestamp: string; data: Message & { endpoint_id: string } }
}

export type WebhookEventName = keyof Fields

/** A verified event: `event` tells its fields. */
export type WebhookEvent = { [Name in WebhookEventName]: { event: Name } & Fields[Name] }[WebhookEventName]

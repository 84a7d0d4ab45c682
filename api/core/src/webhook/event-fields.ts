// The events that are no task's: the fields of each in the order of the interface, and its body. Flat JSON, `event`
// first; made once and stored, because the bytes are what is signed (D63).
import type { WebhookEvent } from './events.ts'

type TaskEvent = 'task.succeeded' | 'task.failed'

/** Amounts of money are integers in minor units, currencies ISO 4217, dates ISO 8601. */
type Fields = {
  'task.retention_cleanup': { count: number; days: number; message: string }
  'batch.completed': {
    batch_job_id: string
    total_count: number
    success_count: number
    failed_count: number
    message: string
  }
  'credits.low_balance': { balance: number; message: string }
  'credits.refunded': { amount: number; message: string }
  'credits.pack_purchased': { credits: number; pack_name: string; message: string }
  'credits.expiration_warning': { credits: number; expiry_date: string; message: string }
  'payment.succeeded': { order_id: string; amount: number; currency: string; message: string }
  'payment.failed': { order_id: string; message: string }
  'refund.succeeded': { refund_id: string; order_id: string; amount: number; currency: string; message: string }
  'subscription.updated': { plan: string; message: string }
  'subscription.canceled': { period_end: string; message: string }
  'subscription.renewed': { plan_name: string; period_end: string; message: string }
  'referral.reward': { credits: number; description: string; message: string }
  'team.invitation': { team_name: string; inviter_email: string; role: string; invite_url: string; message: string }
  welcome: { message: string }
  'security.password_changed': { message: string }
  'security.mfa_enabled': { message: string }
  'security.mfa_disabled': { message: string }
} & Record<Exclude<WebhookEvent, TaskEvent>, object>

/** An event with its fields, in the interface's order: the order in which they are given is the order of the body. */
export type EventFields = {
  readonly [E in keyof Fields]: { readonly event: E; readonly fields: Readonly<Fields[E]> }
}[keyof Fields]

export const buildEventBody = ({ event, fields }: EventFields): string => JSON.stringify({ event, ...fields })

// Who is told of an event, and how, unless they wish otherwise.
import type { WebhookEvent } from '../webhook/events.ts'
import type { Role } from '../workspace/role.ts'

type EventRule = {
  /** Members in these roles are told, where the event concerns no one person. */
  readonly roles: readonly Role[]
  readonly inApp: boolean
  readonly email: boolean
  /** The mail cannot be switched off. */
  readonly emailRequired: boolean
  /** Whoever publishes the event sends a mail of its own, with a link that nobody else may have. */
  readonly hasOwnMail?: boolean
}

const payers: readonly Role[] = ['owner', 'admin', 'billing']
const nobodyElse: readonly Role[] = []

const quiet = { roles: nobodyElse, inApp: true, email: false, emailRequired: false }
const person = { roles: nobodyElse, inApp: true, email: true, emailRequired: false }
const required = { ...person, emailRequired: true }
const money = { roles: payers, inApp: true, email: true, emailRequired: false }
const moneyQuietly = { ...money, email: false }

export const eventRules: Readonly<Record<WebhookEvent, EventRule>> = {
  'task.succeeded': { ...quiet, inApp: false },
  'task.failed': quiet,
  'task.retention_cleanup': { ...quiet, roles: ['owner', 'admin'] },
  'batch.completed': person,
  'credits.low_balance': money,
  'credits.refunded': moneyQuietly,
  // The payment has a mail already.
  'credits.pack_purchased': moneyQuietly,
  'credits.expiration_warning': money,
  'payment.succeeded': money,
  'payment.failed': money,
  'refund.succeeded': money,
  'subscription.updated': money,
  'subscription.canceled': money,
  'subscription.renewed': moneyQuietly,
  'referral.reward': person,
  'team.invitation': { ...required, hasOwnMail: true },
  welcome: person,
  'security.password_changed': required,
  'security.mfa_enabled': required,
  'security.mfa_disabled': required,
}

export const isKnownEvent = (event: string): event is WebhookEvent => Object.hasOwn(eventRules, event)

export const isMailRequired = (event: WebhookEvent): boolean => eventRules[event].emailRequired

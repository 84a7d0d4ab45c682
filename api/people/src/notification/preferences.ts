// Recipients and default channels of each event.

import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { type WebhookEvent, webhookEvents } from '@matte/core/webhook/events'
import type { Role } from '@matte/core/workspace/role'

type EventRule = {
  /** Recipients of an event that does not concern a single user. */
  readonly roles: readonly Role[]
  readonly inApp: boolean
  readonly email: boolean
  readonly emailRequired: boolean
  /** The publisher sends its own mail, with a private link. */
  readonly hasOwnMail?: boolean
}

const payers: readonly Role[] = ['owner', 'admin', 'billing']
const noRoles: readonly Role[] = []

const quiet = { roles: noRoles, inApp: true, email: false, emailRequired: false }
const person = { roles: noRoles, inApp: true, email: true, emailRequired: false }
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
  // payment.succeeded sends a mail already.
  'credits.pack_purchased': moneyQuietly,
  'credits.expiration_warning': money,
  'payment.succeeded': money,
  'payment.failed': money,
  'payment.disputed': money,
  'payment.dispute_closed': money,
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

type Preference = {
  readonly event: WebhookEvent
  readonly inApp: boolean
  readonly email: boolean
  readonly emailRequired: boolean
}

/** Absent channels stay unchanged. */
export type PreferenceChange = {
  readonly event: WebhookEvent
  readonly inApp?: boolean | undefined
  readonly email?: boolean | undefined
}

/** Preferences for every event, in the order of the interface. */
export async function readPreferences(db: Db, userId: string): Promise<Preference[]> {
  const rows = await db.selectFrom('notification_preference').selectAll().where('user_id', '=', userId).execute()
  const chosen = new Map(rows.map((row) => [row.event, row]))
  return webhookEvents.map((event) => {
    const { inApp, email, emailRequired } = eventRules[event]
    const choice = chosen.get(event)
    return {
      event,
      inApp: choice?.in_app ?? inApp,
      email: emailRequired || (choice?.email ?? email),
      emailRequired,
    }
  })
}

/** Applies all changes or none; the last change of an event wins. */
export function changePreferences(db: Db, userId: string, changes: readonly PreferenceChange[]): Promise<Preference[]> {
  return inTransaction(db, async (tx) => {
    // A fixed order prevents deadlocks between two changes.
    const sorted = [...changes].sort((a, b) => webhookEvents.indexOf(a.event) - webhookEvents.indexOf(b.event))
    for (const { event, inApp, email } of sorted) {
      const defaults = eventRules[event]
      await tx
        .insertInto('notification_preference')
        .values({ user_id: userId, event, in_app: inApp ?? defaults.inApp, email: email ?? defaults.email })
        .onConflict((conflict) =>
          conflict.columns(['user_id', 'event']).doUpdateSet((eb) => ({
            in_app: inApp ?? eb.ref('notification_preference.in_app'),
            email: email ?? eb.ref('notification_preference.email'),
          })),
        )
        .execute()
    }
    return readPreferences(tx, userId)
  })
}

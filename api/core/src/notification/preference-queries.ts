import type { Db } from '../db/database.ts'
import { type WebhookEvent, webhookEvents } from '../webhook/events.ts'
import { eventRules } from './event-rules.ts'

type Preference = {
  readonly event: WebhookEvent
  readonly inApp: boolean
  readonly email: boolean
  /** The mail cannot be switched off. */
  readonly emailRequired: boolean
}

/** What differs from now on; a channel that is not named stays as it is. */
export type PreferenceChange = {
  readonly event: WebhookEvent
  readonly inApp?: boolean | undefined
  readonly email?: boolean | undefined
}

/** Of every event, in the order of the interface. */
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

/** Writes the changes, all or none; what is said twice ends as it was said last. */
export function changePreferences(db: Db, userId: string, changes: readonly PreferenceChange[]): Promise<Preference[]> {
  return db.transaction().execute(async (tx) => {
    // In one order, so that two changes at once do not wait for each other in a circle.
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

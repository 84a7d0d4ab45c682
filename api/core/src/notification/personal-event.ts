import type { Db } from '../db/database.ts'
import type { EventFields } from '../webhook/event-fields.ts'
import { publishEvent } from './publish-event.ts'

type PersonalEvent = Extract<
  EventFields,
  { event: 'welcome' | 'team.invitation' | 'referral.reward' | `security.${string}` }
>

/**
 * An event about a person: it goes to that person's notifications, and to the endpoints of that person's personal
 * workspace alone (D62). Without one, which only an erased account is, nothing is published.
 */
export async function publishPersonalEvent(
  tx: Db,
  userId: string,
  { key, ...event }: PersonalEvent & { readonly key: string },
): Promise<void> {
  const workspace = await tx.selectFrom('workspace').select('id').where('personal_of', '=', userId).executeTakeFirst()
  if (workspace !== undefined) await publishEvent(tx, { ...event, key, workspaceId: workspace.id, userId })
}

import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { EventFields } from '@matte/core/webhook/event-fields'
import { publishEvent } from '@matte/core/webhook/publish-event'

type PersonalEvent = Extract<
  EventFields,
  { event: 'welcome' | 'team.invitation' | 'referral.reward' | `security.${string}` }
>

/** Publishes an event to the user and the endpoints of the personal workspace; skips an erased user. */
export async function publishPersonalEvent(
  tx: Db,
  userId: string,
  { key, ...event }: PersonalEvent & { readonly key: string },
): Promise<void> {
  const workspace = await tx.selectFrom('workspace').select('id').where('personal_of', '=', userId).executeTakeFirst()
  if (workspace !== undefined) await publishEvent(tx, { ...event, key, workspaceId: workspace.id, userId })
}

type PlanInForce = { readonly workspaceId: string; readonly plan: string; readonly message: string }

/** Publishes the plan in the transaction that changes it, under the lock of the workspace. */
export const publishPlan = (tx: Db, { workspaceId, plan, message }: PlanInForce): Promise<void> =>
  publishEvent(tx, {
    event: 'subscription.updated',
    fields: { plan, message },
    key: randomUUID(),
    workspaceId,
    userId: null,
  })

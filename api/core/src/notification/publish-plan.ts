import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { publishEvent } from './publish-event.ts'

type PlanInForce = { readonly workspaceId: string; readonly plan: string; readonly message: string }

/**
 * Publishes `subscription.updated` in the transaction that changes the workspace's plan (D72). The caller has locked
 * the workspace's row and seen the change, so each change is published once.
 */
export const publishPlan = (tx: Db, { workspaceId, plan, message }: PlanInForce): Promise<void> =>
  publishEvent(tx, {
    event: 'subscription.updated',
    fields: { plan, message },
    key: randomUUID(),
    workspaceId,
    userId: null,
  })

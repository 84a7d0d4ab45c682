import { randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { type ClaimedDelivery, claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { createEventDeliveries, toDeliveries } from '@matte/core/webhook/create-deliveries'
import { sql } from 'kysely'
import { givenTask, givenWorkspace, type TestWorkspace } from '../support/factories.ts'

/** Claims as the dispatcher does; a test can override each argument. */
export const claimOptions = { limit: 100, claimMs: 30_000, perTargetInFlight: 4, perWorkspaceInFlight: 100 }

export const masterKeysText = `first:${randomBytes(32).toString('base64')}`

/** Delivery of a succeeded task to `callbackUrl`, due now. */
export async function givenDelivery(db: Db, callbackUrl: string, workspace?: TestWorkspace) {
  const owner = workspace ?? (await givenWorkspace(db))
  const { id: taskId } = await givenTask(db, owner, { callbackUrl })
  const task = { event: 'task.succeeded', taskId, message: 'The cut-out is ready.' } as const
  await createEventDeliveries(
    db,
    toDeliveries({ ...task, workspaceId: owner.id, run: 1, callbackUrl, traceparent: null }),
  )
  return { workspaceId: owner.id, taskId }
}

export const readDelivery = (db: Db, taskId: string) =>
  db.selectFrom('delivery').selectAll().where('task_id', '=', taskId).executeTakeFirstOrThrow()

export const readAttempts = (db: Db, taskId: string) =>
  db
    .selectFrom('delivery_attempt as a')
    .innerJoin('delivery as d', 'd.id', 'a.delivery_id')
    .selectAll('a')
    .where('d.task_id', '=', taskId)
    .orderBy('a.attempt')
    .execute()

/** Makes all pending deliveries due now. */
export const makeDue = (db: Db) =>
  db.updateTable('delivery').set({ due_at: sql`now()` }).where('status', '=', 'pending').execute()

/** Lets all claims lapse, as if their dispatcher had died long ago. */
export const lapseClaims = (db: Db) =>
  db.updateTable('delivery').set({ claimed_until: sql`now()` }).where('claim', 'is not', null).execute()

/** Claims and leaves out whether others wait. */
export async function claimDue(db: Db, options: Partial<typeof claimOptions> = {}): Promise<ClaimedDelivery[]> {
  return [...(await claimDueDeliveries(db, { ...claimOptions, ...options })).deliveries]
}

export async function claimOne(db: Db) {
  const [delivery] = await claimDue(db, { limit: 1 })
  if (delivery === undefined) throw new Error('nothing was claimed')
  return delivery
}

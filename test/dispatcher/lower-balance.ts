// Ways to take a balance below 10 without ending a task. Each takes a workspace without credits to 9.
import { adjustCredits } from '@matte/core/credit/adjust-credits'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { refundCredits } from '@matte/core/credit/refund-credits'
import type { Db } from '@matte/core/db/database'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { sql } from 'kysely'
import { givenBatch, givenTask, type TestWorkspace } from '../support/factories.ts'

const inDays = (days: number): Date => new Date(Date.now() + days * 24 * 3_600_000)
const grant = (db: Db, workspaceId: string, more: { readonly amount: number; readonly expiresAt?: Date }) =>
  grantCredits(db, { workspaceId, kind: 'test', ...more })

export async function expire(db: Db, { id }: TestWorkspace): Promise<void> {
  await grant(db, id, { amount: 9 })
  await grant(db, id, { amount: 2, expiresAt: inDays(1) })
  await expireCredits(db, { now: inDays(2) })
}

export async function refund(db: Db, { id }: TestWorkspace): Promise<void> {
  await grant(db, id, { amount: 8 })
  const lot = await grant(db, id, { amount: 4 })
  const refunded = { workspaceId: id, lotId: lot?.lotId ?? '', amount: 3, reference: 'r' }
  await db.transaction().execute((tx) => refundCredits(tx, refunded))
}

export async function correct(db: Db, { id }: TestWorkspace): Promise<void> {
  await grant(db, id, { amount: 12 })
  await adjustCredits(db, { workspaceId: id, amount: -3, reason: 'r', reference: 'r' })
}

export async function holdBatch(db: Db, workspace: TestWorkspace): Promise<void> {
  await grant(db, workspace.id, { amount: 12 })
  await givenBatch(db, workspace, { size: 3 })
}

/** The lot expires while one of its credits is held, and the hold is released before the sweep. */
export async function releaseLapsed(db: Db, workspace: TestWorkspace): Promise<void> {
  await grant(db, workspace.id, { amount: 8 })
  const lot = await grant(db, workspace.id, { amount: 4, expiresAt: inDays(1) })
  const { id } = await givenTask(db, workspace)
  await sql`update credit_hold set held_at = held_at - interval '2 days' where task_id = ${id}`.execute(db)
  await sql`update credit_lot set expires_at = now() - interval '1 hour' where id = ${lot?.lotId}`.execute(db)
  await cancelTask(db, workspace.id, id)
}

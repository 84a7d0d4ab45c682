// The real side of credit-properties.faults.test.ts: one workspace and production functions. Time passes by moving the
// rows' times back, because rows use the database clock.
import { adjustCredits } from '@matte/core/credit/adjust-credits'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { holdCredits } from '@matte/core/credit/hold'
import { type Grant, grantCredits } from '@matte/core/credit/lot-queries'
import { refundCredits } from '@matte/core/credit/refund-credits'
import type { Db } from '@matte/core/db/database'
import { insertSingle } from '@matte/core/task/insert-task'
import { retryTask } from '@matte/core/task/retry-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { type ClaimedTask, claimNextTasks } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans, type Plan } from '@matte/core/workspace/plan'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { givenUpload, ownModel, success } from '../support/factories.ts'
import { memoryBucket } from '../support/memory-bucket.ts'

/** A plan that charges and has no other limit. */
export const plan: Plan = { ...(defaultPlans.pro as Plan), concurrentTasks: 100_000, monthlyQuota: null }
const plans = { pro: plan }

export type RealTask = { readonly id: string; readonly model: string }
export type World = Awaited<ReturnType<typeof createWorld>>

export async function createWorld(db: Db) {
  const { id: workspaceId } = await insertWorkspace(db, { name: 'properties', plan: 'pro' })
  const { objectKey, bucket } = await givenUpload(db, workspaceId, memoryBucket())
  const upload = await db
    .selectFrom('upload')
    .select('id')
    .where('object_key', '=', objectKey)
    .executeTakeFirstOrThrow()

  return {
    db,
    workspaceId,
    grant: (on: Db, grant: Omit<Grant, 'workspaceId' | 'kind'>) =>
      grantCredits(on, { workspaceId, kind: 'test', ...grant }),

    /** A task that costs `amount`, in the steps of `createTask`, which knows only one price. */
    create: (on: Db, amount: number): Promise<RealTask> =>
      on.transaction().execute(async (tx) => {
        const model = ownModel()
        const inserted = await insertSingle(tx, plan, {
          workspaceId,
          uploadId: upload.id,
          sourceKey: objectKey,
          sourceEtag: 'etag',
          sourceSizeBytes: 1,
          modelVersion: model,
          callbackUrl: null,
          output: null,
          ...{ creditCost: amount, createdBy: null, traceparent: null },
        })
        if (inserted.kind !== 'created') throw new Error(`not inserted: ${inserted.kind}`)
        const { task } = inserted
        await holdCredits(tx, { workspaceId, userId: null, taskId: task.id, run: task.run, amount })
        return { id: task.id, model }
      }),

    cancel: (on: Db, { id }: Pick<RealTask, 'id'>) => cancelTask(on, workspaceId, id),
    claim: async (on: Db, { model }: RealTask) =>
      (await claimNextTasks(on, { models: [model], limit: 1, plans, claimMs: 600_000 })).tasks[0],
    succeed: (on: Db, claim: ClaimedTask) => finishTask(on, claim, success(claim)),
    fail: (on: Db, claim: ClaimedTask) => failAttempt(on, claim, 'INPUT_UNREADABLE'),
    retry: (on: Db, { id }: RealTask) => retryTask(on, bucket, { workspaceId, plan, id, traceparent: null }),
    expire: (on: Db) => expireCredits(on),
    refund: (on: Db, lotId: string, amount: number, reference: string) =>
      on.transaction().execute((tx) => refundCredits(tx, { workspaceId, lotId, amount, reference })),

    adjust: (on: Db, amount: number, reference: string) =>
      adjustCredits(on, { workspaceId, amount, reason: 'test', reference }),

    passHours: (hours: number) => passHours(db, workspaceId, hours),
    lots: () =>
      db
        .selectFrom('credit_lot')
        .select(['id', 'available', 'held', 'spent', 'expired', 'refunded', 'adjusted'])
        .where('workspace_id', '=', workspaceId)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
  }
}

async function passHours(db: Db, workspaceId: string, hours: number): Promise<void> {
  const span = sql`${hours} * interval '1 hour'`
  await sql`
    update credit_lot set created_at = created_at - ${span}, expires_at = expires_at - ${span},
           grace_until = grace_until - ${span}
     where workspace_id = ${workspaceId}`.execute(db)
  await sql`
    update credit_hold set held_at = held_at - ${span}
     where task_id in (select id from task where workspace_id = ${workspaceId})`.execute(db)
}

export class Crash extends Error {}

/** The same database with a connection that breaks at the statement of this number, counted from 0. */
export function crashingAt(db: Db, statement: number): Db {
  let asked = 0
  return db.withPlugin({
    transformQuery: ({ node }) => {
      if (asked++ === statement) throw new Crash(`the connection broke at statement ${statement}`)
      return node
    },
    transformResult: async ({ result }) => result,
  })
}

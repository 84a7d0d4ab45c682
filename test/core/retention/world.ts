// Shared by the retention tests: the sweep as of a day, and its tasks, uploads and endpoints.
import type { Db } from '@matte/core/db/database'
import { countsOrThrow } from '@matte/core/db/sweep'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import type { Bucket } from '@matte/core/storage/bucket'
import { createTask } from '@matte/core/task/create-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { defaultPlans as plans } from '@matte/core/workspace/plan'
import { claimNext, givenUpload, onePixelPng, ownModel, success, type TestWorkspace } from '../../support/factories.ts'
import { memoryBucket } from '../../support/memory-bucket.ts'
import { processDb } from '../../support/roles.ts'

/** Settings of every sweep here. */
export const common = { plans, auditRetentionDays: 365 }

/** A time this many days from now; an extra half day avoids the bounds. */
export const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000)

const has = (bucket: Bucket, key: string): Promise<boolean> =>
  bucket.head(key, 1).then(
    () => true,
    () => false,
  )

/** `database`: that of the test; its `db` exists once a test runs. */
export function retentionWorld(database: { readonly db: Db }) {
  const sweep = (days: number, bucket: Pick<Bucket, 'delete' | 'list'> = memoryBucket()) =>
    sweepRetention({ ...common, db: processDb('worker', database.db), bucket }, { now: inDays(days) }).then(
      countsOrThrow,
    )

  const createOf = (workspace: TestWorkspace, bucket: Bucket, task: { imageUrl: string; modelVersion: string }) =>
    createTask(database.db, bucket, {
      workspaceId: workspace.id,
      plan: workspace.plan,
      ...task,
      callbackUrl: 'http://receiver.example/hook',
      traceparent: null,
    })

  const create = (workspace: TestWorkspace, bucket: Bucket, imageUrl: string) =>
    createOf(workspace, bucket, { imageUrl, modelVersion: ownModel() })

  /** A succeeded task with source and result in the bucket. */
  async function givenSucceeded(
    workspace: TestWorkspace,
    bucket: Bucket = memoryBucket(),
    imageUrl?: string,
  ): Promise<TaskRow> {
    const { db } = database
    const model = ownModel()
    const source = imageUrl ?? (await givenUpload(db, workspace.id, bucket)).objectKey
    await createOf(workspace, bucket, { imageUrl: source, modelVersion: model })
    const claim = await claimNext(db, [model])
    if (claim === undefined) throw new Error('the new task could not be claimed')
    const ending = success(claim)
    if (ending.status === 'succeeded') await bucket.put(ending.resultKey, onePixelPng, { contentType: 'image/png' })
    return (await finishTask(db, claim, ending)) as TaskRow
  }

  const exists = async (table: 'task' | 'batch' | 'workspace', id: string): Promise<boolean> =>
    (await database.db.selectFrom(table).select('id').where('id', '=', id).executeTakeFirst()) !== undefined
  const linesOf = (keys: readonly (string | null)[]) =>
    database.db
      .selectFrom('object_deletion')
      .select('object_key')
      .where(
        'object_key',
        'in',
        keys.flatMap((key) => key ?? []),
      )
      .execute()
  return { sweep, create, givenSucceeded, exists, has, linesOf }
}

// Whole lives of tasks through the functions of the processes: created, claimed, ended, and told by a webhook.
import type { Db } from '@matte/core/db/database'
import { createTask } from '@matte/core/task/create-task'
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { memoryBucket } from '../../support/memory-bucket.ts'
import { delivered, onePixelPng, success } from './outcomes.ts'
import { benchPlan, plans } from './plan.ts'

let made = 0

/** Creates a task with its own upload, as a caller does. */
export async function createOne(db: Db, workspaceId: string): Promise<TaskRow> {
  const bucket = memoryBucket()
  const objectKey = `private-uploads/2026/01/bench-${process.pid}-${Date.now()}-${made++}-photo.png`
  await insertGrant(db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
  await bucket.put(objectKey, onePixelPng, { contentType: 'image/png' })
  return createTask(db, bucket, {
    workspaceId,
    plan: benchPlan,
    imageUrl: objectKey,
    modelVersion: 'service-v2',
    callbackUrl: 'https://receiver.example.com/hooks/matte?tenant=42',
    traceparent: null,
  })
}

/** One task from its creation to its delivered webhook. */
export async function liveOne(db: Db, workspaceId: string): Promise<void> {
  await createOne(db, workspaceId)
  const claims = await claimNextTasks(db, { models: ['service-v2'], limit: 1, plans, claimMs: 600_000 })
  const task = claims.tasks[0]
  if (task === undefined || (await finishTask(db, task, success(task))) === undefined) throw new Error('no task ended')
  const options = { limit: 1, claimMs: 600_000, perTargetInFlight: 100, perWorkspaceInFlight: 100 }
  const { deliveries } = await claimDueDeliveries(db, options)
  for (const delivery of deliveries) await recordAttempt(db, delivery, delivered)
}

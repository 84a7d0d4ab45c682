// Rows for tests, created by production code, so they can exist. Row times are those of the database: a test that needs
// an old row or a lapsed claim changes the row, never a clock.
import { randomBytes } from 'node:crypto'
import type { BatchRow, BatchWithTasks } from '@matte/core/batch/batch-queries'
import { createBatch } from '@matte/core/batch/create-batch'
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { createFairGate, type Gate } from '@matte/core/runtime/concurrency/fair-gate'
import { resultKey } from '@matte/core/storage/object-key'
import { createTask } from '@matte/core/task/create-task'
import { type ClaimedTask, type Claims, claimNextTasks } from '@matte/core/task/run/claim-task'
import type { WorkerEnding } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { defaultPlans, type Plan, planNamed } from '@matte/core/workspace/plan'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { memoryBucket } from './memory-bucket.ts'
import { processDb } from './roles.ts'

/** A complete PNG of one pixel. */
export const onePixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
)

const random = (): string => randomBytes(6).toString('hex')

/** A model version of the test's own, so claims never take tasks of other tests. */
export const ownModel = (): string => `m-${random()}`

export type TestWorkspace = { readonly id: string; readonly plan: Plan }

export async function givenWorkspace(
  db: Db,
  { plan = 'internal', credits = 0 }: { plan?: string; credits?: number } = {},
): Promise<TestWorkspace> {
  const { id } = await insertWorkspace(db, { name: 'test', plan })
  if (credits > 0) await grantCredits(db, { workspaceId: id, kind: 'test', amount: credits })
  return { id, plan: planNamed(defaultPlans, plan) }
}

/** An object key of the workspace with an uploaded PNG. */
export async function givenUpload(db: Db, workspaceId: string, bucket = memoryBucket(), body: Buffer = onePixelPng) {
  const objectKey = `private-uploads/2026/01/${random()}-photo.png`
  await insertGrant(db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
  await bucket.put(objectKey, body, { contentType: 'image/png' })
  return { objectKey, bucket }
}

export type TaskOptions = {
  readonly model?: string
  readonly callbackUrl?: string
  /** A child of a batch; it takes no slot of single tasks. */
  readonly child?: boolean
  /** Age of the task. */
  readonly ageMs?: number
}

/** A queued task by `createTask` with its own upload; a child is alone in its batch. */
export async function givenTask(db: Db, workspace: TestWorkspace, options: TaskOptions = {}): Promise<TaskRow> {
  const { ageMs = 0 } = options
  const task = options.child ? await givenChild(db, workspace, options) : await givenSingle(db, workspace, options)
  if (ageMs > 0) {
    await sql`update task set queued_at = queued_at - ${ageMs} * interval '1 ms' where id = ${task.id}`.execute(db)
  }
  return task
}

async function givenSingle(db: Db, workspace: TestWorkspace, { model, callbackUrl }: TaskOptions): Promise<TaskRow> {
  const { objectKey, bucket } = await givenUpload(db, workspace.id)
  return createTask(db, bucket, {
    workspaceId: workspace.id,
    plan: workspace.plan,
    imageUrl: objectKey,
    modelVersion: model ?? 'service-v2',
    callbackUrl: callbackUrl ?? null,
    traceparent: null,
  })
}

async function givenChild(db: Db, workspace: TestWorkspace, options: TaskOptions): Promise<TaskRow> {
  const [task] = (await givenBatch(db, workspace, { ...options, size: 1 })).tasks
  if (task === undefined) throw new Error('the batch has no task')
  return task
}

export type BatchOptions = { readonly size?: number; readonly model?: string; readonly callbackUrl?: string }

/** A batch by `createBatch`; all tasks share one upload. */
export async function givenBatch(
  db: Db,
  workspace: TestWorkspace,
  { size = 2, model = 'service-v2', callbackUrl }: BatchOptions = {},
): Promise<BatchWithTasks<TaskRow>> {
  const { objectKey, bucket } = await givenUpload(db, workspace.id)
  return createBatch(db, bucket, {
    workspaceId: workspace.id,
    plan: workspace.plan,
    imageUrls: Array.from({ length: size }, () => objectKey),
    modelVersion: model,
    callbackUrl: callbackUrl ?? null,
    traceparent: null,
    gate: gateOf(25),
  })
}

/** Claims as a free slot does; the claim outlives the test. */
export const claimNext = async (
  db: Db,
  models: readonly string[],
  claimMs = 600_000,
): Promise<ClaimedTask | undefined> => (await claimUpTo(db, models, 1, claimMs)).tasks[0]

/** Claims as many free slots do. */
export const claimUpTo = (db: Db, models: readonly string[], limit: number, claimMs = 600_000): Promise<Claims> =>
  claimNextTasks(processDb('worker', db), { models, limit, plans: defaultPlans, claimMs })

/** A task, and the claim of the worker that processes it. */
export async function givenClaimed(db: Db, workspace: TestWorkspace, options: TaskOptions = {}): Promise<ClaimedTask> {
  const model = options.model ?? ownModel()
  await givenTask(db, workspace, { ...options, model })
  const claimed = await claimNext(db, [model])
  if (claimed === undefined) throw new Error('the new task could not be claimed')
  return claimed
}

/** Lets a claim lapse as if its worker had died this long ago. */
export const lapseClaim = (db: Db, { id }: { id: string }) =>
  sql`update task set claimed_until = now() where id = ${id}`.execute(db)

/** Ends the pause before the next attempt. */
export const makeDue = (db: Db, { id }: { id: string }) =>
  sql`update task set due_at = now() where id = ${id}`.execute(db)

export const readTask = (db: Db, id: string): Promise<TaskRow> =>
  db.selectFrom('task').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

export async function readHistory(db: Db, id: string): Promise<string[]> {
  const rows = await db.selectFrom('task_event').select('type').where('task_id', '=', id).orderBy('id').execute()
  return rows.map((row) => row.type)
}

/** Ends a run as a worker does that has stored its result. */
export const success = (claimed: ClaimedTask): WorkerEnding => ({
  status: 'succeeded',
  resultKey: resultKey(claimed, 'png'),
  resultFormat: 'png',
  resultSizeBytes: 100,
  width: 1,
  height: 1,
  foreground: null,
})

export const readBatchRow = (db: Db, id: string): Promise<BatchRow> =>
  db.selectFrom('batch').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Bounds concurrent inspections of a batch that a test creates. */
export function gateOf(runningMax: number): Gate {
  const gate = createFairGate(runningMax, runningMax)
  return { run: (act) => gate.run('test', act) }
}

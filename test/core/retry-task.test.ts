// Concurrent changes to a failed task while its retry inspects the object.
import type { Db } from '@matte/core/db/database'
import { retryTask } from '@matte/core/task/retry-task'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenTask,
  givenWorkspace,
  onePixelPng,
  ownModel,
  readTask,
  type TestWorkspace,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { memoryBucket } from '../support/memory-bucket.ts'

describe('a retry', () => {
  const database = useDatabase()

  async function givenFailed() {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 10 })
    const model = ownModel()
    const task = await givenTask(db, workspace, { model })
    await fail(db, model)
    return { workspace, model, task }
  }

  async function fail(db: Db, model: string): Promise<void> {
    const claimed = await claimNext(db, [model])
    if (claimed === undefined) throw new Error('nothing to claim')
    await failAttempt(db, claimed, 'INPUT_UNREADABLE')
  }

  /** Retries, and runs `meanwhile` during the inspection. */
  async function retry(
    workspace: TestWorkspace,
    id: string,
    key: string,
    meanwhile = async (): Promise<void> => undefined,
  ) {
    const bucket = memoryBucket()
    await bucket.put(key, onePixelPng, { contentType: 'image/png' })
    const head: typeof bucket.head = async (name, firstBytes) => {
      await meanwhile()
      return bucket.head(name, firstBytes)
    }
    const { id: workspaceId, plan } = workspace
    return retryTask(database.db, { ...bucket, head }, { workspaceId, plan, id, traceparent: null })
  }

  it('is rejected when its upload expires meanwhile, and takes nothing', async () => {
    const { db } = database
    const { workspace, task } = await givenFailed()
    const refused = retry(workspace, task.id, task.source_key, async () => {
      await sql`update upload set deleted_at = now() where id = ${task.upload_id}`.execute(db)
    })
    await expect(refused).rejects.toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
    expect(await readTask(db, task.id)).toMatchObject({ status: 'failed', run: 1 })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('sent twice under one key returns the first result, although the task is queued by then', async () => {
    const { db } = database
    const { workspace, task } = await givenFailed()
    const { id: workspaceId, plan } = workspace
    const bucket = memoryBucket()
    await bucket.put(task.source_key, onePixelPng, { contentType: 'image/png' })
    const path = `/tasks/${task.id}/retry`
    const once = { owner: { workspaceId }, method: 'POST', path, key: 'a', bodyHash: Buffer.alloc(32), status: 200 }
    const request = { workspaceId, plan, id: task.id, once, traceparent: null }
    await retryTask(db, bucket, request)
    // The twin looked for a result before there was one, and now continues.
    await expect(retryTask(db, bucket, request)).rejects.toMatchObject({
      name: 'AlreadyCreated',
      outcome: { resourceId: task.id, status: 200 },
    })
    expect(await readTask(db, task.id)).toMatchObject({ run: 2, retry_count: 1 })
  })

  it('is rejected when a concurrent retry was faster', async () => {
    const { db } = database
    const { workspace, task } = await givenFailed()
    const slow = retry(workspace, task.id, task.source_key, async () => {
      await retry(workspace, task.id, task.source_key)
    })
    await expect(slow).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE', details: { status: 'queued' } })
    expect(await readTask(db, task.id)).toMatchObject({ run: 2, retry_count: 1 })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('does not start the run after the next one when a concurrent retry was faster and has failed again', async () => {
    const { db } = database
    const { workspace, model, task } = await givenFailed()
    const slow = retry(workspace, task.id, task.source_key, async () => {
      await retry(workspace, task.id, task.source_key)
      await fail(db, model)
    })
    await expect(slow).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await readTask(db, task.id)).toMatchObject({ status: 'failed', run: 2, retry_count: 1 })
    expect(await findBrokenRules(db)).toEqual({})
  })
})

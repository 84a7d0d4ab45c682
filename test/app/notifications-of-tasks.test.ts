// Notifications to creators of tasks and batches about their ends, and no notifications for tasks made outside the App.
import { countsOrThrow, sweepParts } from '@matte/core/db/sweep'
import { announceCleanups } from '@matte/core/retention/announce-cleanup'
import { createTask } from '@matte/core/task/create-task'
import { retryTask } from '@matte/core/task/retry-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { notifyEndedTasks, notifyEvents } from '@matte/people/notification/make-notifications'
import { changePreferences } from '@matte/people/notification/preferences'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { claimNext, givenTask, givenUpload, onePixelPng, ownModel, success } from '../support/factories.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { processDb } from '../support/roles.ts'

const world = useApi()
const plan = planNamed(defaultPlans, 'pro')

beforeEach(() => sql`truncate notification, notification_due, mail`.execute(world.db))

/** Runs the dispatcher's loop, this many concurrently. */
async function tell(loops = 1): Promise<void> {
  const deps = { db: processDb('dispatcher', world.db), masterKeys: world.api.config.masterKeys, mailEnabled: true }
  const pass = async () =>
    countsOrThrow(
      await sweepParts({
        events: (sweep) => notifyEvents(deps, sweep),
        ends: (sweep) => notifyEndedTasks(deps, sweep),
      }),
    )
  await Promise.all(Array.from({ length: loops }, pass))
}

const toldOf = async ({ userId }: Person) =>
  world.db
    .selectFrom('notification')
    .select(['type', 'data', 'title'])
    .where('user_id', '=', userId)
    .orderBy('type')
    .execute()

type Making = { readonly inApp?: boolean; readonly child?: boolean }

/** A task of this person, created in the App by default, claimed by a worker. */
async function givenMade({ userId, workspaceId }: Person, { inApp = true, child = false }: Making = {}) {
  const model = ownModel()
  const { id, batch_id } = await givenTask(world.db, { id: workspaceId, plan }, { model, child })
  await made('task', id, { userId, inApp })
  if (batch_id !== null) await made('batch', batch_id, { userId, inApp })
  const claimed = await claimNext(world.db, [model])
  if (claimed === undefined) throw new Error('nothing to claim')
  return claimed
}

const made = (table: 'task' | 'batch', id: string, { userId, inApp }: { userId: string; inApp: boolean }) =>
  world.db.updateTable(table).set({ created_by: userId, notify_maker: inApp }).where('id', '=', id).execute()

const person = () => givenPerson(world.db, world.api)
const waiting = () => world.db.selectFrom('task_event').select('id').where('for_user', 'is not', null).execute()

describe('the end of a task', () => {
  it('notifies its creator about a failure, once, with any number of loops', async () => {
    const ada = await person()
    const task = await givenMade(ada)
    await failAttempt(world.db, task, 'INPUT_UNREADABLE')
    await Promise.all([tell(3), tell(3)])
    await tell()
    expect(await toldOf(ada)).toEqual([
      {
        type: 'task.failed',
        data: { task_id: task.id, reason: 'INPUT_UNREADABLE' },
        title: 'An image could not be processed',
      },
    ])
    expect(await waiting()).toEqual([])
  })

  it('notifies creators who enabled it about a success', async () => {
    const [ada, bob] = [await person(), await person()]
    await changePreferences(world.db, bob.userId, [{ event: 'task.succeeded', inApp: true, email: true }])
    for (const maker of [ada, bob]) {
      const task = await givenMade(maker)
      await finishTask(world.db, task, success(task))
    }
    await tell()
    expect(await toldOf(ada)).toEqual([])
    expect(await toldOf(bob)).toMatchObject([{ type: 'task.succeeded' }])
    const mails = await world.db.selectFrom('mail').select(['user_id', 'template']).execute()
    expect(mails).toEqual([{ user_id: bob.userId, template: 'notification' }])
    expect(await waiting()).toEqual([])
  })

  it('sends no notification for a task made with a key, in a batch, or canceled', async () => {
    const ada = await person()
    const byKey = await givenMade(ada, { inApp: false })
    await failAttempt(world.db, byKey, 'INPUT_UNREADABLE')
    const child = await givenMade(ada, { child: true })
    await failAttempt(world.db, child, 'INPUT_UNREADABLE')
    const { id } = await givenTask(world.db, { id: ada.workspaceId, plan })
    await made('task', id, { userId: ada.userId, inApp: true })
    await cancelTask(world.db, ada.workspaceId, id)
    expect(await waiting()).toEqual([])
  })

  it('sends none after a retry', async () => {
    const ada = await person()
    const task = await givenMade(ada)
    await failAttempt(world.db, task, 'INPUT_UNREADABLE')
    const bucket = memoryBucket()
    await bucket.put(task.sourceKey, onePixelPng, { contentType: 'image/png' })
    await retryTask(world.db, bucket, { workspaceId: ada.workspaceId, plan, id: task.id, traceparent: null })
    await tell()
    expect(await toldOf(ada)).toEqual([])
    expect(await waiting()).toEqual([])
  })
})

it('of a batch notifies its creator with its counts, unless made with a key', async () => {
  const ada = await person()
  for (const inApp of [true, false]) {
    const child = await givenMade(ada, { child: true, inApp })
    await finishTask(world.db, child, success(child))
    await tell(2)
  }
  expect(await toldOf(ada)).toMatchObject([
    { type: 'batch.completed', data: { total_count: 1, success_count: 1, failed_count: 0 } },
  ])
})

it('deleted tasks notify owner and admins, together with the announcement', async () => {
  const owner = await person()
  const { workspaceId } = owner
  const admin = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'admin' } })
  const member = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'member' } })
  await world.db.insertInto('retention_notice').values({ workspace_id: workspaceId, deleted: 3 }).execute()
  expect(await announceCleanups(world.db, defaultPlans)).toBe(1)
  await tell()
  for (const told of [owner, admin]) {
    expect(await toldOf(told)).toMatchObject([{ type: 'task.retention_cleanup', data: { count: 3, days: 30 } }])
  }
  expect(await toldOf(member)).toEqual([])
})

it('a creation stores whether its creator gets a notification', async () => {
  const ada = await person()
  const { objectKey, bucket } = await givenUpload(world.db, ada.workspaceId)
  const request = { workspaceId: ada.workspaceId, plan, imageUrl: objectKey, modelVersion: 'service-v2' }
  const common = { ...request, callbackUrl: null, traceparent: null }
  expect(await createTask(world.db, bucket, { ...common, notifyMaker: true })).toMatchObject({ notify_maker: true })
  expect(await createTask(world.db, bucket, common)).toMatchObject({ notify_maker: false })
})

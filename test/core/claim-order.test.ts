// Order of claims (D39): the workspace with the fewest processing tasks first, singles before children, then by age.
import { writeSetting } from '@matte/core/setting/setting-queries'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  claimUpTo,
  givenTask,
  givenWorkspace,
  ownModel,
  readHistory,
  readTask,
  success,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

describe('claimNextTask', () => {
  const database = useDatabase()

  it('claims the oldest queued task and returns what a worker needs', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db)
    await givenTask(db, workspace, { model })
    const older = await givenTask(db, workspace, { model, ageMs: 60_000 })
    const claimed = await claimNext(db, [model])
    expect(claimed).toMatchObject({
      id: older.id,
      run: 1,
      attempt: 1,
      workspaceId: workspace.id,
      plan: 'internal',
      modelVersion: model,
      sourceKey: older.source_key,
      sourceEtag: older.source_etag,
      sourceSizeBytes: older.source_size_bytes,
    })
    expect(claimed?.waitedMs).toBeGreaterThanOrEqual(60_000)
    expect(await readHistory(db, older.id)).toEqual(['queued', 'processing'])
  })

  it('claims only tasks of the requested models', async () => {
    const { db } = database
    const model = ownModel()
    await givenTask(db, await givenWorkspace(db), { model })
    expect(await claimNext(db, [ownModel()])).toBeUndefined()
    expect(await claimNext(db, [])).toBeUndefined()
    expect(await claimNext(db, [ownModel(), model])).toMatchObject({ modelVersion: model })
  })

  it('prefers singles over children of a batch, whatever their age', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db)
    const child = await givenTask(db, workspace, { model, child: true, ageMs: 60_000 })
    const single = await givenTask(db, workspace, { model })
    expect((await claimNext(db, [model]))?.id).toBe(single.id)
    expect((await claimNext(db, [model]))?.id).toBe(child.id)
  })

  it('prefers the workspace with the fewest processing, so a large one does not delay others', async () => {
    const { db } = database
    const model = ownModel()
    const [large, small] = [await givenWorkspace(db), await givenWorkspace(db)]
    for (let index = 0; index < 4; index++) await givenTask(db, large, { model, ageMs: 60_000 })
    for (let index = 0; index < 2; index++) await givenTask(db, small, { model })
    const turns: string[] = []
    for (let claimed = await claimNext(db, [model]); claimed; claimed = await claimNext(db, [model])) {
      turns.push(claimed.workspaceId === large.id ? 'large' : 'small')
    }
    expect(turns).toEqual(['large', 'small', 'large', 'small', 'large', 'large'])
  })

  it('claims several tasks of a workspace in their order, and says whether more wait', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db)
    const child = await givenTask(db, workspace, { model, child: true, ageMs: 60_000 })
    const younger = await givenTask(db, workspace, { model })
    const older = await givenTask(db, workspace, { model, ageMs: 30_000 })
    const first = await claimUpTo(db, [model], 2)
    expect([first.tasks.map(({ id }) => id), first.more]).toEqual([[older.id, younger.id], true])
    const second = await claimUpTo(db, [model], 2)
    expect([second.tasks.map(({ id }) => id), second.more]).toEqual([[child.id], false])
    expect(await claimUpTo(db, [model], 2)).toEqual({ tasks: [], more: false })
    for (const { id } of [older, younger, child]) expect(await readHistory(db, id)).toEqual(['queued', 'processing'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('gives several tasks in the turns of single claims', async () => {
    const { db } = database
    const model = ownModel()
    const [large, small] = [await givenWorkspace(db), await givenWorkspace(db)]
    for (let index = 0; index < 6; index++) await givenTask(db, large, { model, ageMs: 60_000 })
    for (let index = 0; index < 2; index++) await givenTask(db, small, { model })
    const turns: string[][] = []
    for (let left = 8; left > 0; ) {
      const { tasks } = await claimUpTo(db, [model], left)
      turns.push(tasks.map(({ workspaceId }) => (workspaceId === large.id ? 'large' : 'small')))
      left -= tasks.length
    }
    expect(turns.flat()).toEqual(['large', 'small', 'large', 'small', 'large', 'large', 'large', 'large'])
    expect(turns.at(-1)).toHaveLength(4)
  })

  it('lets a workspace that is behind catch up in one claim', async () => {
    const { db } = database
    const [model, other] = [ownModel(), ownModel()]
    const [busy, idle] = [await givenWorkspace(db), await givenWorkspace(db)]
    for (let index = 0; index < 3; index++) await givenTask(db, busy, { model: other })
    expect((await claimUpTo(db, [other], 9)).tasks).toHaveLength(3)
    for (let index = 0; index < 5; index++) await givenTask(db, idle, { model })
    await givenTask(db, busy, { model, ageMs: 60_000 })
    const { tasks, more } = await claimUpTo(db, [model], 9)
    expect([tasks.map(({ workspaceId }) => workspaceId), more]).toEqual([[idle.id, idle.id, idle.id], true])
    expect((await claimNext(db, [model]))?.workspaceId).toBe(busy.id)
  })

  it('claims no more than the limit of a workspace, and then says that no more can be claimed', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 10 })
    for (let index = 0; index < 5; index++) await givenTask(db, workspace, { model, child: true })
    const { tasks, more } = await claimUpTo(db, [model], 9)
    expect([tasks.length, more]).toEqual([workspace.plan.concurrentTasks, false])
    expect(await claimUpTo(db, [model], 9)).toEqual({ tasks: [], more: false })
    const [claimed] = tasks
    expect(await finishTask(db, claimed as ClaimedTask, success(claimed as ClaimedTask))).toMatchObject({
      othersWait: true,
    })
    expect((await claimUpTo(db, [model], 9)).tasks).toHaveLength(1)
  })

  it('counts processing tasks of other models too', async () => {
    const { db } = database
    const [model, other] = [ownModel(), ownModel()]
    const [busy, idle] = [await givenWorkspace(db), await givenWorkspace(db)]
    await givenTask(db, busy, { model: other })
    await claimNext(db, [other])
    await givenTask(db, busy, { model, ageMs: 60_000 })
    await givenTask(db, idle, { model })
    expect((await claimNext(db, [model]))?.workspaceId).toBe(idle.id)
  })

  it('skips a workspace at its limit and serves the next', async () => {
    const { db } = database
    const model = ownModel()
    const full = await givenWorkspace(db, { plan: 'pro', credits: 10 })
    for (let index = 0; index < 3; index++) await givenTask(db, full, { model, child: true, ageMs: 60_000 })
    const next = await givenWorkspace(db)
    await givenTask(db, next, { model })
    const claims = [await claimNext(db, [model]), await claimNext(db, [model]), await claimNext(db, [model])]
    expect(claims.map((claim) => claim?.workspaceId).sort()).toEqual([full.id, full.id, next.id].sort())
    expect(await claimNext(db, [model])).toBeUndefined()
  })

  it('claims nothing while dispatch is paused, and continues afterwards', async () => {
    const { db } = database
    const model = ownModel()
    const task = await givenTask(db, await givenWorkspace(db), { model })
    await writeSetting(db, 'dispatchPaused', true)
    expect(await claimNext(db, [model])).toBeUndefined()
    await writeSetting(db, 'dispatchPaused', false)
    expect((await claimNext(db, [model]))?.id).toBe(task.id)
  })

  it('sets the start once, so the duration of a run spans its attempts', async () => {
    const { db } = database
    const model = ownModel()
    const task = await givenTask(db, await givenWorkspace(db), { model })
    expect(await readTask(db, task.id)).toMatchObject({ started_at: null })
    await claimNext(db, [model])
    expect((await readTask(db, task.id)).started_at).toBeInstanceOf(Date)
  })
})

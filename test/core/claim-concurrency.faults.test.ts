// Many slots claim at the same moment: each task goes to one slot, and limits hold exactly.
import { finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { claimNext, givenTask, givenWorkspace, lapseClaim, ownModel, readTask, success } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

const times = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)))

describe('fifty concurrent claims', () => {
  const database = useDatabase()

  it('never give one task to two slots', async () => {
    const { db } = database
    const model = ownModel()
    const workspaces = await times(5, () => givenWorkspace(db))
    for (const workspace of workspaces) await times(6, () => givenTask(db, workspace, { model }))
    const claims = (await times(50, () => claimNext(db, [model]))).filter((claim) => claim !== undefined)
    expect(new Set(claims.map(({ id }) => id)).size).toBe(claims.length)
    expect(new Set(claims.map(({ claim }) => claim)).size).toBe(claims.length)
    // And every slot gets one while tasks remain, because it would otherwise sleep until its timer.
    expect(claims).toHaveLength(30)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('never exceed the limit of a workspace', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db, { plan: 'business', credits: 50 })
    for (let index = 0; index < 20; index++) await givenTask(db, workspace, { model, child: true })
    const most = { processing: 0 }
    const watch = connectTo(database.url, 1)
    const observe = async (): Promise<void> => {
      const { processing } = await watch.db
        .selectFrom('workspace')
        .select('processing')
        .where('id', '=', workspace.id)
        .executeTakeFirstOrThrow()
      most.processing = Math.max(most.processing, processing)
    }
    let finished = 0
    const worker = async (): Promise<void> => {
      while (finished < 20) {
        const task = await claimNext(db, [model])
        await observe()
        if (task && (await finishTask(db, task, success(task)))) finished += 1
      }
    }
    await times(50, worker)
    await watch.db.destroy()
    expect(most.processing).toBeLessThanOrEqual(workspace.plan.concurrentTasks)
    expect(finished).toBe(20)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('fill the limit: three slots run three tasks', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db, { plan: 'business', credits: 50 })
    for (let index = 0; index < 10; index++) await givenTask(db, workspace, { model, child: true })
    const claims = await times(50, () => claimNext(db, [model]))
    expect(claims.filter(Boolean)).toHaveLength(3)
  })

  it('do not wait for a lapsed attempt whose row is locked', async () => {
    const { db } = database
    const model = ownModel()
    const stuck = await givenTask(db, await givenWorkspace(db), { model })
    await claimNext(db, [model])
    await lapseClaim(db, stuck)
    const queued = await givenTask(db, await givenWorkspace(db), { model })
    await db.transaction().execute(async (tx) => {
      await tx.selectFrom('task').select('id').where('id', '=', stuck.id).forUpdate().execute()
      expect((await claimNext(db, [model]))?.id).toBe(queued.id)
    })
  })

  it('resume a lapsed attempt once', async () => {
    const { db } = database
    const model = ownModel()
    const task = await givenTask(db, await givenWorkspace(db), { model })
    await claimNext(db, [model])
    await lapseClaim(db, task)
    const claims = (await times(50, () => claimNext(db, [model]))).filter(Boolean)
    expect(claims).toHaveLength(1)
    expect(await readTask(db, task.id)).toMatchObject({ run: 1, attempt: 2, claim: claims[0]?.claim })
  })

  it('wait for a create in the same workspace and then see its task', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db)
    const task = await givenTask(db, workspace, { model })
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const creating = db.transaction().execute(async (tx) => {
      await sql`select 1 from workspace where id = ${workspace.id} for update`.execute(tx)
      lock()
      await released
    })
    await locked
    const claiming = claimNext(db, [model])
    release()
    await creating
    expect((await claiming)?.id).toBe(task.id)
  })
})

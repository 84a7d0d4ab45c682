// How batches and single tasks share concurrency slots (D39).
import { finishTask } from '@matte/core/task/run/finish-task'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { claimNext, givenBatch, givenTask, givenWorkspace, ownModel, success } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

describe('slots and batches', () => {
  const database = useDatabase()

  async function claimAll(model: string) {
    const claims = []
    for (let next = await claimNext(database.db, [model]); next; next = await claimNext(database.db, [model])) {
      claims.push(next)
    }
    return claims
  }

  it('a batch never processes more at once than its plan has slots, however many are free', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db, { plan: 'business', credits: 50 })
    await givenBatch(db, workspace, { size: 20, model })
    let ended = 0
    for (let claims = await claimAll(model); claims.length > 0; claims = await claimAll(model)) {
      expect(claims.length).toBe(Math.min(3, 20 - ended))
      for (const claim of claims) await finishTask(db, claim, success(claim))
      ended += claims.length
    }
    expect(ended).toBe(20)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('a single task goes before an earlier batch and shares its slots', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 50 })
    const { tasks } = await givenBatch(db, workspace, { size: 5, model })
    const single = await givenTask(db, workspace, { model })
    const claims = await claimAll(model)
    expect(claims.map(({ id }) => id)).toEqual([single.id, tasks[0]?.id])
  })

  it('a large batch delays no other workspace: slots rotate between workspaces', async () => {
    const { db } = database
    const model = ownModel()
    const large = await givenWorkspace(db)
    await givenBatch(db, large, { size: 50, model })
    const [small, other] = [await givenWorkspace(db), await givenWorkspace(db)]
    await givenTask(db, small, { model })
    const { tasks } = await givenBatch(db, other, { size: 2, model })
    const names = new Map([
      [large.id, 'large'],
      [small.id, 'small'],
      [other.id, 'other'],
    ])
    const turns: (string | undefined)[] = []
    for (let turn = 0; turn < 7; turn++) turns.push(names.get((await claimNext(db, [model]))?.workspaceId ?? ''))
    expect(turns).toEqual(['large', 'small', 'other', 'large', 'other', 'large', 'large'])
    expect(tasks).toHaveLength(2)
  })
})

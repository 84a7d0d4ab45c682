// Expiry of lots (D71), case by case; random sequences of credit-properties.faults.test.ts rarely reach these.
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import { readBalance } from '@matte/core/credit/balance'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { holdCredits, settleHolds } from '@matte/core/credit/hold'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { findRefundable, refundCredits } from '@matte/core/credit/refund-credits'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { givenBatch, ownModel } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { createWorld, plan, type World } from './credit-world.ts'

const unknown = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
const inHours = (hours: number): Date => new Date(Date.now() + hours * 3_600_000)

describe('the expiry of a lot', () => {
  const database = useDatabase()
  const available = async ({ workspaceId }: World) => (await readBalance(database.db, workspaceId)).available

  /** Two credits that expire in 10 hours, one of them held by a task. */
  async function givenHalfHeld() {
    const { db } = database
    const world = await createWorld(db)
    await world.grant(db, { amount: 2, expiresAt: inHours(10) })
    return { db, world, task: await world.create(db, 1) }
  }

  it('removes unheld credits and keeps held ones', async () => {
    const { db, world } = await givenHalfHeld()
    await world.passHours(11)
    expect(await available(world)).toBe(0)
    await expect(world.create(db, 1)).rejects.toMatchObject({ code: 'CREDITS_INSUFFICIENT' })
    await expireCredits(db)
    expect(await world.lots()).toMatchObject([{ available: 0, held: 1, expired: 1 }])
  })

  it('lets a held credit be captured after the expiry', async () => {
    const { db, world, task } = await givenHalfHeld()
    await world.passHours(11)
    const claim = await world.claim(db, task)
    if (claim) await world.succeed(db, claim)
    await expireCredits(db)
    expect(await world.lots()).toMatchObject([{ available: 0, held: 0, spent: 1, expired: 1 }])
    expect(await findBrokenCreditRules(db, world.workspaceId)).toEqual([])
  })

  it('gives a credit that is released late 72 more hours, and only that credit', async () => {
    const { db, world, task } = await givenHalfHeld()
    await world.passHours(11)
    await world.cancel(db, task)
    expect(await available(world)).toBe(1)
    await expireCredits(db)
    await world.passHours(71)
    await expireCredits(db)
    expect(await available(world)).toBe(1)
    await world.passHours(2)
    expect(await available(world)).toBe(0)
    await expireCredits(db)
    expect(await world.lots()).toMatchObject([{ available: 0, held: 0, expired: 2 }])
    expect(await findBrokenCreditRules(db, world.workspaceId)).toEqual([])
  })

  it('grants no second grace time, so holding and canceling cannot keep a credit forever', async () => {
    const { db, world, task } = await givenHalfHeld()
    await world.passHours(11)
    await world.cancel(db, task)
    await world.passHours(60)
    await world.cancel(db, await world.create(db, 1))
    expect(await available(world)).toBe(1)
    await world.passHours(13)
    expect(await available(world)).toBe(0)
  })

  it('releases a batch like its children one by one: each lot gets its own, and lapsed credits expire', async () => {
    const { db } = database
    const cancelRest = {
      whole: async ({ workspaceId }: World, batchId: string) => void (await cancelBatch(db, workspaceId, batchId)),
      singly: async (world: World, _batchId: string, tasks: readonly { readonly id: string }[]) => {
        for (const task of tasks) await world.cancel(db, task)
      },
    }
    for (const [how, cancel] of Object.entries(cancelRest)) {
      const world = await createWorld(db)
      for (const hours of [10, 100]) await world.grant(db, { amount: 3, expiresAt: inHours(hours) })
      await world.grant(db, { amount: 3 })
      const workspace = { id: world.workspaceId, plan: { ...plan, batchLimit: 7 } }
      const { batch, tasks } = await givenBatch(db, workspace, { size: 7, model: ownModel() })
      const [first, ...rest] = tasks
      if (first) await world.cancel(db, first) // so the first lot has one to spend when it lapses
      await world.passHours(11)
      await cancel(world, batch.id, rest)
      const lots = (await world.lots()).map(({ available, held, expired }) => ({ available, held, expired }))
      expect({ how, lots }).toEqual({
        how,
        lots: [
          { available: 2, held: 0, expired: 1 },
          { available: 3, held: 0, expired: 0 },
          { available: 3, held: 0, expired: 0 },
        ],
      })
      expect(await available(world)).toBe(8) // both credits of the first lot can be spent for 72 hours
      expect(await findBrokenCreditRules(db, world.workspaceId)).toEqual([])
    }
  })

  it('grants the grace time also when the release began before the expiry and a sweep ran in between', async () => {
    const { db, world, task } = await givenHalfHeld()
    await db.transaction().execute(async (tx) => {
      await sql`select now()`.execute(tx) // from here on, the transaction's time
      await sql`update credit_lot set expires_at = clock_timestamp() + interval '50 ms'
                   where workspace_id = ${world.workspaceId}`.execute(db)
      await until('the lot has ended', async () => {
        const { rows } = await sql`
            select from credit_lot
             where workspace_id = ${world.workspaceId} and expires_at < clock_timestamp()`.execute(db)
        return rows.length === 1
      })
      await expireCredits(db)
      await settleHolds(tx, [{ taskId: task.id, run: 1 }], 'released')
    })
    expect(await available(world)).toBe(1)
    await expireCredits(db)
    expect(await world.lots()).toMatchObject([{ available: 1, held: 0, expired: 1 }])
  })

  it('uses another time if an operator gives one', async () => {
    const { db, world } = await givenHalfHeld()
    await expireCredits(db, { now: inHours(9) }) // left over from other tests
    expect(await expireCredits(db, { now: inHours(9) })).toBe(0)
    expect(await expireCredits(db, { now: inHours(11) })).toBe(1)
    expect(await expireCredits(db, { now: inHours(11) })).toBe(0)
    expect(await world.lots()).toMatchObject([{ available: 0, held: 1, expired: 1 }])
  })

  it('reports remaining and soon expiring credits', async () => {
    const { db, world } = await givenHalfHeld()
    await world.grant(db, { amount: 5, expiresAt: inHours(24 * 8) })
    await world.grant(db, { amount: 7 })
    const { soonUntil, ...balance } = await readBalance(db, world.workspaceId)
    expect(balance).toEqual({ available: 13, held: 1, total: 14, expiringSoon: 1 })
    expect(soonUntil).toBeInstanceOf(Date)
    await world.passHours(25)
    const later = { available: 12, held: 1, total: 13, expiringSoon: 5 }
    expect(await readBalance(db, world.workspaceId)).toMatchObject(later)
  })
})

describe('grants and refunds', () => {
  const database = useDatabase()

  it('are spent by priority, then expiry, then age', async () => {
    const { db } = database
    const world = await createWorld(db)
    const lots = [
      { priority: 50, expiresAt: null },
      { priority: 50, expiresAt: inHours(20) },
      { priority: 50, expiresAt: inHours(10) },
      { priority: 50, expiresAt: inHours(10) },
      { priority: 10, expiresAt: null },
    ]
    const same = inHours(10)
    for (const lot of lots) {
      const expiresAt = lot.expiresAt && lot.expiresAt <= same ? same : lot.expiresAt
      await world.grant(db, { amount: 1, ...lot, expiresAt })
    }
    const order: number[] = []
    for (let task = 0; task < lots.length; task++) {
      await world.create(db, 1)
      const held = (await world.lots()).findIndex((lot, index) => lot.held === 1 && !order.includes(index))
      order.push(held)
    }
    expect(order).toEqual([4, 2, 3, 1, 0])
  })

  it('grant the same source once, also concurrently, and reject another amount for it', async () => {
    const { db } = database
    const { workspaceId } = await createWorld(db)
    const grant = { workspaceId, kind: 'plan', amount: 5, source: 'plan:2026-11' }
    const made = await Promise.all(Array.from({ length: 10 }, () => grantCredits(db, grant)))
    expect(new Set(made.map((lot) => lot?.lotId)).size).toBe(1)
    expect(await readBalance(db, workspaceId)).toMatchObject({ available: 5 })
    await expect(grantCredits(db, { ...grant, amount: 6 })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await grantCredits(db, { ...grant, workspaceId: unknown })).toBeUndefined()
    expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
  })

  it('refund only the available part of a lot, once per reference', async () => {
    const { db } = database
    const world = await createWorld(db)
    const { workspaceId } = world
    const lotId = (await world.grant(db, { amount: 5 }))?.lotId ?? ''
    await world.create(db, 2)
    expect(await findRefundable(db, workspaceId, lotId)).toBe(3)
    const refused = world.refund(db, lotId, 4, 'first')
    await expect(refused).rejects.toMatchObject({ code: 'CONFLICT', details: { refundable: 3 } })
    for (let time = 0; time < 2; time++) expect(await world.refund(db, lotId, 2, 'second')).toEqual({ refunded: 2 })
    expect(await world.lots()).toMatchObject([{ available: 1, held: 2, refunded: 2 }])
    expect(await findRefundable(db, workspaceId, unknown)).toBeUndefined()
    expect(await world.refund(db, unknown, 1, 'third')).toBeUndefined()
    const other = await createWorld(db)
    expect(await other.refund(db, lotId, 1, 'fourth')).toBeUndefined()
    expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
  })

  it('hold credits of a task once, however often requested', async () => {
    const { db } = database
    const world = await createWorld(db)
    await world.grant(db, { amount: 5 })
    const { id: taskId } = await world.create(db, 1)
    const again = db
      .transaction()
      .execute((tx) => holdCredits(tx, { workspaceId: world.workspaceId, userId: null, taskId, run: 1, amount: 1 }))
    await expect(again).rejects.toThrow('credit_hold_pkey')
    expect(await world.lots()).toMatchObject([{ available: 4, held: 1 }])
  })

  it('cancel a refund inside the caller’s transaction', async () => {
    const { db } = database
    const world = await createWorld(db)
    const lotId = (await world.grant(db, { amount: 5 }))?.lotId ?? ''
    const order = db.transaction().execute(async (tx) => {
      await refundCredits(tx, { workspaceId: world.workspaceId, lotId, amount: 5, reference: 'r' })
      throw new Error('the order could not be written')
    })
    await expect(order).rejects.toThrow('could not be written')
    expect(await world.lots()).toMatchObject([{ available: 5, refunded: 0 }])
  })
})

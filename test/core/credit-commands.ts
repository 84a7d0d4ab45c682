// Commands of credit-properties.faults.test.ts: each acts on the model and on the real ledger, and compares. With
// `crashAt` the connection first breaks at that statement: the ledger must be unchanged, and the command repeats.

import { readBalance } from '@matte/core/credit/balance'
import { settleHolds } from '@matte/core/credit/hold'
import type { Db } from '@matte/core/db/database'
import fc, { type AsyncCommand } from 'fast-check'
import { expect } from 'vitest'
import {
  availableIn,
  capture,
  hold,
  isSpendable,
  type Model,
  type ModelLot,
  type ModelTask,
  release,
  sweep,
} from './credit-model.ts'
import { Crash, crashingAt, type World } from './credit-world.ts'

type Real = { readonly world: World }
type Crashable = { readonly crashAt: number | null }

/** The ledger's lots in the form of the model. */
const shown = ({ id, available, held, spent, expired, refunded, adjusted }: ModelLot) => ({
  id,
  available,
  held,
  spent,
  expired,
  refunded,
  adjusted,
})

async function expectEqual(model: Model, { world }: Real): Promise<void> {
  expect(await world.lots()).toEqual(model.lots.map(shown))
  const held = model.lots.reduce((sum, lot) => sum + lot.held, 0)
  const available = availableIn(model)
  expect(await readBalance(world.db, world.workspaceId)).toMatchObject({ available, held, total: available + held })
}

/** Runs it with a breaking connection if asked; then, unless it got through, normally. */
async function withCrash<T>(model: Model, real: Real, { crashAt }: Crashable, act: (db: Db) => Promise<T>): Promise<T> {
  const { db } = real.world
  if (crashAt === null) return act(db)
  try {
    return await act(crashingAt(db, crashAt))
  } catch (error) {
    orCrash(error)
    await expectEqual(model, real)
    return act(db)
  }
}

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): AsyncCommand<Model, Real> => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real)
    await expectEqual(model, real)
  },
  toString: () => name,
})

const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]

type GrantOptions = Crashable & {
  readonly amount: number
  readonly priority: number
  readonly expiresInHours: number | null
  readonly source: string | null
}

const grant = (options: GrantOptions) =>
  command(`grant(${JSON.stringify(options)})`, async (model, real) => {
    const { amount, priority, expiresInHours, source } = options
    const hours = expiresInHours === null ? null : expiresInHours + 0.5
    const expiresAt = hours === null ? null : new Date(Date.now() + hours * 3_600_000)
    const known = source === null ? undefined : model.sources.get(source)
    const granting = withCrash(model, real, options, (db) =>
      real.world.grant(db, { amount, priority, expiresAt, source }),
    )
    if (known !== undefined && known.amount !== amount) {
      return await expect(granting).rejects.toMatchObject({ code: 'CONFLICT' })
    }
    const made = await granting
    if (known !== undefined) return expect(made?.lotId).toBe(known.lot.id)
    const lot = newLot({
      id: made?.lotId ?? '',
      priority,
      amount,
      expiresAt: hours === null ? null : model.hour + hours,
    })
    model.lots.push(lot)
    if (source !== null) model.sources.set(source, { lot, amount })
  })

type NewLot = Pick<ModelLot, 'id' | 'priority' | 'expiresAt'> & { readonly amount: number }

const newLot = ({ amount, ...lot }: NewLot): ModelLot => ({
  ...lot,
  graceUntil: null,
  available: amount,
  held: 0,
  spent: 0,
  expired: 0,
  refunded: 0,
  adjusted: 0,
})

const create = (options: Crashable & { readonly amount: number }) =>
  command(`create(${JSON.stringify(options)})`, async (model, real) => {
    const available = availableIn(model)
    const creating = withCrash(model, real, options, (db) => real.world.create(db, options.amount))
    if (available < options.amount) {
      const details = { required: options.amount, available }
      return await expect(creating).rejects.toMatchObject({ code: 'CREDITS_INSUFFICIENT', details })
    }
    const made = await creating
    model.tasks.push({ ...made, status: 'queued', run: 1, holds: hold(model, options.amount) ?? [] })
  })

type TaskOptions = Crashable & { readonly index: number }

/** In three of four cases a task that the command can end, otherwise any, so rejections occur too. */
const onTask = (
  name: string,
  options: TaskOptions,
  run: (task: ModelTask, model: Model, real: Real) => Promise<void>,
) =>
  command(`${name}(${JSON.stringify(options)})`, async (model, real) => {
    const wanted = name === 'retry' ? 'failed' : 'queued'
    const fitting = model.tasks.filter(({ status }) => status === wanted)
    const task = pick(options.index % 4 === 0 || fitting.length === 0 ? model.tasks : fitting, options.index)
    if (task !== undefined) await run(task, model, real)
  })

const cancel = (options: TaskOptions) =>
  onTask('cancel', options, async (task, model, real) => {
    const canceling = withCrash(model, real, options, (db) => real.world.cancel(db, task))
    if (task.status !== 'queued') return await expect(canceling).rejects.toMatchObject({ code: 'TASK_CANNOT_CANCEL' })
    await canceling
    task.status = 'canceled'
    release(model, task)
    await endAgain(real, task)
  })

/** Ends a finished run in every possible way; nothing may change. */
async function endAgain({ world }: Real, { id, run }: ModelTask): Promise<void> {
  for (const outcome of ['captured', 'released'] as const) {
    expect(await settleHolds(world.db, [{ taskId: id, run }], outcome)).toBe(0)
  }
  await expect(world.cancel(world.db, { id })).rejects.toMatchObject({ code: 'TASK_CANNOT_CANCEL' })
}

const finish = (options: TaskOptions & { readonly succeeds: boolean }) =>
  onTask('finish', options, async (task, model, real) => {
    const { world } = real
    const claim = await world.claim(world.db, task)
    if (task.status !== 'queued') return expect(claim).toBeUndefined()
    if (claim === undefined) throw new Error('a queued task could not be claimed')
    const end = (db: Db, succeeds: boolean): Promise<unknown> =>
      succeeds ? world.succeed(db, claim) : world.fail(db, claim)
    await withCrash(model, real, options, (db) => end(db, options.succeeds))
    task.status = options.succeeds ? 'succeeded' : 'failed'
    if (options.succeeds) capture(task)
    else release(model, task)
    for (const succeeds of [true, false]) expect([undefined, 'lost']).toContain(await end(world.db, succeeds))
    await endAgain(real, task)
  })

const retry = (options: TaskOptions) =>
  onTask('retry', options, async (task, model, real) => {
    const available = availableIn(model)
    const retrying = withCrash(model, real, options, (db) => real.world.retry(db, task))
    const refuse = (code: string) => expect(retrying).rejects.toMatchObject({ code })
    if (task.status !== 'failed') return await refuse('TASK_NOT_RETRYABLE')
    if (task.run > 3) return await refuse('TASK_RETRY_LIMIT_EXCEEDED')
    if (available < 1) return await refuse('CREDITS_INSUFFICIENT')
    await retrying
    task.status = 'queued'
    task.run += 1
    task.holds = hold(model, 1) ?? []
  })

const refund = (options: Crashable & { readonly index: number; readonly amount: number; readonly reference: string }) =>
  command(`refund(${JSON.stringify(options)})`, async (model, real) => {
    const { index, amount, reference } = options
    const lot = pick(model.lots, index)
    if (lot === undefined) return
    const refunding = withCrash(model, real, options, (db) => real.world.refund(db, lot.id, amount, reference))
    const earlier = model.refunds.get(reference)
    if (earlier !== undefined) return expect(await refunding).toEqual({ refunded: earlier })
    if (!isSpendable(model, lot) || lot.available < amount) {
      return await expect(refunding).rejects.toMatchObject({ code: 'CONFLICT' })
    }
    expect(await refunding).toEqual({ refunded: amount })
    lot.available -= amount
    lot.refunded += amount
    model.refunds.set(reference, amount)
  })

const adjust = (options: Crashable & { readonly amount: number; readonly reference: string }) =>
  command(`adjust(${JSON.stringify(options)})`, async (model, real) => {
    const { amount, reference } = options
    const adjusting = withCrash(model, real, options, (db) => real.world.adjust(db, amount, reference))
    const earlier = model.adjustments.get(reference)
    const refused = earlier === undefined ? availableIn(model) < -amount : earlier !== amount
    if (refused) return await expect(adjusting).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await adjusting).toHaveProperty('adjustmentId')
    if (earlier !== undefined) return
    model.adjustments.set(reference, amount)
    for (const { lot, amount: part } of (amount < 0 && hold(model, -amount)) || []) {
      lot.held -= part
      lot.adjusted += part
    }
    if (amount < 0) return
    const known = new Set(model.lots.map(({ id }) => id))
    const added = (await real.world.lots()).find(({ id }) => !known.has(id))
    model.lots.push(newLot({ id: added?.id ?? '', priority: 50, amount, expiresAt: null }))
  })

/** One transaction per workspace: if it breaks, its lots and those of another one may differ. */
const expire = ({ crashAt }: Crashable) =>
  command(`expire(${JSON.stringify({ crashAt })})`, async (model, { world }) => {
    if (crashAt !== null) await world.expire(crashingAt(world.db, crashAt)).catch(orCrash)
    await world.expire(world.db)
    sweep(model)
  })

function orCrash(error: unknown): void {
  if (!(error instanceof Crash)) throw error
}

const pass = (hours: number) =>
  command(`pass(${hours} h)`, async (model, real) => {
    await real.world.passHours(hours)
    model.hour += hours
  })

const crashAt = fc.option(fc.nat(8), { freq: 3 })
const index = fc.nat(20)
const amount = fc.integer({ min: 1, max: 6 })

/** Weighted by repetition: creating and ending are the most frequent. */
export const commands = fc.commands(
  [
    fc
      .record({
        amount,
        priority: fc.constantFrom(0, 50, 100),
        expiresInHours: fc.option(fc.nat(40), { freq: 3 }),
        source: fc.option(fc.constantFrom('a', 'b', 'c'), { freq: 2 }),
        crashAt,
      })
      .map(grant),
    fc.record({ amount, crashAt }).map(create),
    fc.record({ amount, crashAt }).map(create),
    fc.record({ amount, crashAt }).map(create),
    fc.record({ index, crashAt }).map(cancel),
    fc.record({ index, crashAt }).map(cancel),
    fc.record({ index, succeeds: fc.boolean(), crashAt }).map(finish),
    fc.record({ index, succeeds: fc.boolean(), crashAt }).map(finish),
    fc.record({ index, crashAt }).map(retry),
    fc.record({ index, amount, reference: fc.constantFrom('r1', 'r2', 'r3'), crashAt }).map(refund),
    fc
      .record({ amount: fc.constantFrom(-5, -2, -1, 2), reference: fc.constantFrom('a1', 'a2', 'a3', 'a4'), crashAt })
      .map(adjust),
    fc.record({ crashAt }).map(expire),
    // The grace time of 72 hours passes in one to three steps.
    fc.constantFrom(5, 20, 30, 40, 80).map(pass),
    fc.constantFrom(5, 20, 30, 40, 80).map(pass),
  ],
  { maxCommands: 40, size: 'max' },
)

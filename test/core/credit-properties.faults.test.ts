// The twelve properties of the ledger against real PostgreSQL: random sequences compared with a model after every
// command, and random scripts that run concurrently on separate connections. Each run prints its seed;
// MATTE_PROPERTY_SEED repeats it, MATTE_PROPERTY_RUNS sets the number of runs (default 40; three times as many
// sequences).
//
//   1 every transaction sums to 0               7 a crash between statements does not change the result
//   2 available and held are never negative     8 the order of lots is kept
//   3 granted = the sum of the six accounts     9 a terminal task has no open hold
//   4 the columns are the sums of the entries  10 no entry is updated or deleted
//   5 each hold ends once                      11 limit and quota hold with N concurrent creators
//   6 a repeated command changes nothing       12 the order of provider events does not matter
//
// Mutations that were tried, and the properties that fail:
//
//   `state = 'open'` in settleHolds                    5, 6 in sequences (the CHECK of `held` stops it)
//   the entry of a release                             2, 4, 5 in sequences and concurrently
//   `priority` in the order of holdCredits             8 in sequences and concurrently
//   the expiry in the choice of holdCredits            8 in sequences
//   settleHolds on a separate connection               7 in sequences
//   the lapsed part, or the grace time, of a release   the model, in sequences
//   `source` of a grant, the check of a refund's reference  6 in sequences, 12
//   `available >=` of a refund                         2 in sequences and concurrently (the CHECK stops it)
//   the limit, or the quota, in singleSlot            11, and in takeSingleSlot only, by retries
//   `lot.lapsed` in a release's `lot_available`        4 in sequences
//   the reference of an adjustment                     6 in sequences
//   the trigger of credit_entry                        10
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createTask } from '@matte/core/task/create-task'
import { retryTask } from '@matte/core/task/retry-task'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { findBrokenCreditRules, findOrderViolations } from '../support/credit-rules.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { claimNext, givenUpload, givenWorkspace, ownModel } from '../support/factories.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { commands } from './credit-commands.ts'
import { newModel } from './credit-model.ts'
import { createWorld, plan, type RealTask, type World } from './credit-world.ts'
import { deliverUntilApplied, type ProviderEvent, shuffle } from './provider-events.ts'

const runs = Number(process.env.MATTE_PROPERTY_RUNS ?? 40)
const seed = Number(process.env.MATTE_PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const parameters = { numRuns: runs, seed, endOnFailure: process.env.CI !== undefined }
/** Long runs have no time limit. */
const timeoutMs = 120_000 + runs * 5_000
const say = (line: string): void => void process.stdout.write(`[properties] ${line}\n`)

const refusals = [
  'CREDITS_INSUFFICIENT',
  'TASK_CANNOT_CANCEL',
  'TASK_NOT_RETRYABLE',
  'TASK_RETRY_LIMIT_EXCEEDED',
  'CONFLICT',
]

const limits = ['TASK_CONCURRENT_LIMIT', 'QUOTA_EXCEEDED', 'CREDITS_INSUFFICIENT']

/** A rejection by the table is a result; anything else, such as a broken CHECK or a deadlock, is a failure. */
async function orRefused<T>(acting: Promise<T>): Promise<T | undefined> {
  try {
    return await acting
  } catch (error) {
    if (error instanceof MatteError && refusals.includes(error.code)) return undefined
    throw error
  }
}

describe('the ledger', () => {
  const database = useDatabase()

  it(
    'keeps properties 1 to 9 in any sequence of commands, with crashes and repeats',
    async () => {
      say(`sequences: seed ${seed}, ${runs * 3} runs`)
      let done = 0
      const property = fc.asyncProperty(commands, async (sequence) => {
        const world = await createWorld(database.db)
        await fc.asyncModelRun(() => ({ model: newModel(), real: { world } }), sequence)
        expect(await findBrokenCreditRules(database.db, world.workspaceId)).toEqual([])
        done += [...sequence].length
      })
      await fc.assert(property, { ...parameters, numRuns: runs * 3 })
      say(`sequences: ${done} commands`)
    },
    timeoutMs,
  )

  it(
    'keeps properties 1 to 6, 8 and 9 with concurrent scripts',
    async () => {
      say(`at once: seed ${seed}, ${runs} runs`)
      const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
      const property = fc.asyncProperty(lots, fc.tuple(script, script, script, script), async (granted, scripts) => {
        const world = await createWorld(database.db)
        for (const lot of granted) await world.grant(database.db, { ...lot, expiresAt: inHours(lot.expiresInHours) })
        const tasks: RealTask[] = []
        await Promise.all(
          scripts.map(async (steps, index) => {
            for (const step of steps) await orRefused(perform(world, replicas[index]?.db ?? database.db, step, tasks))
          }),
        )
        expect(await findBrokenCreditRules(database.db, world.workspaceId)).toEqual([])
        expect(await findOrderViolations(database.db, world.workspaceId, couldBeSeen)).toEqual([])
      })
      await fc.assert(property, parameters).finally(() => Promise.all(replicas.map((replica) => replica.stop())))
    },
    timeoutMs,
  )

  it('property 10: rejects updates and deletions of entries', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db, { credits: 3 })
    const change = db.updateTable('credit_entry').set({ amount: 4 }).where('workspace_id', '=', id)
    await expect(change.execute()).rejects.toThrow('append-only')
    await expect(db.deleteFrom('credit_entry').where('workspace_id', '=', id).execute()).rejects.toThrow('append-only')
    expect(await findBrokenCreditRules(db, id)).toEqual([])
  })

  it(
    'property 11: N concurrent creators and retries exceed neither limit nor quota nor credits',
    async () => {
      const bounds = fc.record({
        creators: fc.oneof(fc.nat(4), fc.nat(50)),
        retries: fc.integer({ min: 0, max: 12 }),
        limit: fc.integer({ min: 1, max: 8 }),
        quota: fc.integer({ min: 1, max: 8 }),
        credits: fc.integer({ min: 1, max: 8 }),
      })
      const property = fc.asyncProperty(bounds, async ({ creators, retries, limit, quota, credits }) => {
        const { db } = database
        const { id } = await givenWorkspace(db, { plan: 'pro', credits })
        const { objectKey, bucket } = await givenUpload(db, id, memoryBucket())
        const asked = { workspaceId: id, imageUrl: objectKey, callbackUrl: null, traceparent: null }
        const failed: string[] = []
        for (let i = 0; i < retries; i++) {
          const model = ownModel()
          const task = await createTask(db, bucket, { ...asked, plan, modelVersion: model })
          const claimed = await claimNext(db, [model])
          if (claimed) await failAttempt(db, claimed, 'INPUT_UNREADABLE')
          failed.push(task.id)
        }
        const bounded = { ...plan, concurrentTasks: limit, monthlyQuota: retries + quota }
        const creations = Array.from({ length: creators }, () =>
          createTask(db, bucket, { ...asked, plan: bounded, modelVersion: ownModel() }),
        )
        const again = failed.map((task) => retryTask(db, bucket, { ...asked, plan: bounded, id: task }))
        const answers = await Promise.allSettled([...again, ...creations])
        const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []))
        for (const code of refused) expect(limits).toContain(code)
        const made = answers.length - refused.length
        expect(made).toBe(Math.min(creators + retries, limit, quota, credits))
        const row = await db.selectFrom('workspace').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
        expect(row).toMatchObject({ open_singles: made, queued: made, quota_used: retries + made })
        expect(await findBrokenCreditRules(db, id)).toEqual([])
      })
      await fc.assert(property, { ...parameters, numRuns: Math.max(5, Math.floor(runs / 3)) })
    },
    timeoutMs,
  )

  it(
    'property 12: reaches the same balance in any order of provider events, repeats included',
    async () => {
      const orders = fc.array(fc.record({ credits: fc.integer({ min: 1, max: 9 }), refunded: fc.nat(9) }), {
        minLength: 1,
        maxLength: 6,
      })
      const property = fc.asyncProperty(orders, fc.infiniteStream(fc.nat()), async (given, random) => {
        const events = given.flatMap(({ credits, refunded }, order): ProviderEvent[] => [
          { order, paid: credits },
          ...(refunded === 0 ? [] : [{ order, refunded: Math.min(refunded, credits) }]),
        ])
        const twice = shuffle([...events, ...events], random)
        const { id } = await insertWorkspace(database.db, { name: 'provider', plan: 'pro' })
        await deliverUntilApplied(database.db, id, twice)
        const expected = given.reduce((sum, { credits, refunded }) => sum + credits - Math.min(refunded, credits), 0)
        const { rows } = await sql<{ available: number }>`
            select sum(available)::int as available from credit_lot where workspace_id = ${id}`.execute(database.db)
        expect(rows[0]?.available).toBe(expected)
        expect(await findBrokenCreditRules(database.db, id)).toEqual([])
      })
      await fc.assert(property, parameters)
    },
    timeoutMs,
  )
})

// Concurrent scripts.

/** Priority of lots granted meanwhile: the worst, so that no hold must prefer them. */
const late = 100

/** Lots that every hold could choose from: created before the scripts, and not lapsed. */
const couldBeSeen = ({ priority, expires_at: expiresAt }: { priority: number; expires_at: Date | null }): boolean =>
  priority < late && (expiresAt === null || expiresAt.getTime() > Date.now())

const amount = fc.integer({ min: 1, max: 6 })
const inHours = (hours: number | null): Date | null =>
  hours === null ? null : new Date(Date.now() + hours * 3_600_000)

/** Initial lots in all orders, some lapsed. */
const lots = fc.array(
  fc.record({
    amount,
    priority: fc.constantFrom(0, 1, 50),
    expiresInHours: fc.option(fc.constantFrom(-5, 5, 50, 500)),
    source: fc.constant(null),
  }),
  { minLength: 1, maxLength: 8 },
)

type Step =
  | { readonly do: 'create'; readonly amount: number }
  | { readonly do: 'grant'; readonly amount: number; readonly source: string | null }
  | { readonly do: 'cancel' | 'succeed' | 'fail' | 'retry'; readonly index: number }
  | { readonly do: 'refund'; readonly index: number; readonly amount: number; readonly reference: string }
  | { readonly do: 'adjust'; readonly amount: number; readonly reference: string }
  | { readonly do: 'expire' }

const index = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), amount }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'succeed' as const, 'fail' as const), index }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retry' as const), index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      amount: fc.constant(3),
      source: fc.option(fc.constantFrom('a', 'b')),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      index,
      amount,
      reference: fc.constantFrom('r1', 'r2', 'r3'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('adjust' as const),
      amount: fc.constantFrom(-2, -1),
      reference: fc.constantFrom('a1', 'a2', 'a3'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const) }) },
)
const script = fc.array(step, { minLength: 3, maxLength: 12 })

/** One step on the script's connection; all scripts share tasks. */
async function perform(world: World, db: Db, step: Step, tasks: RealTask[]): Promise<unknown> {
  if (step.do === 'create') return tasks.push(await world.create(db, step.amount))
  if (step.do === 'grant') return world.grant(db, { amount: step.amount, priority: late, source: step.source })
  if (step.do === 'expire') return world.expire(db)
  if (step.do === 'adjust') return world.adjust(db, step.amount, step.reference)
  if (step.do === 'refund') {
    const all = await world.lots()
    const lot = all[step.index % Math.max(1, all.length)]
    return lot && world.refund(db, lot.id, step.amount, step.reference)
  }
  const task = tasks[step.index % Math.max(1, tasks.length)]
  if (task === undefined) return undefined
  if (step.do === 'cancel') return world.cancel(db, task)
  if (step.do === 'retry') return world.retry(db, task)
  const claim = await world.claim(db, task)
  return claim && (step.do === 'succeed' ? world.succeed(db, claim) : world.fail(db, claim))
}

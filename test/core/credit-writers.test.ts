// All concurrent writers of a workspace's ledger: holds and their ends, grants of packs, plans and referrals,
// adjustments, successful and failed refunds, expiry, and the end of a team. Each entry's balance, as members read it,
// must follow from the previous one.
import { adjustCredits } from '@matte/core/credit/adjust-credits'
import { readBalance } from '@matte/core/credit/balance'
import { grantDuePlans } from '@matte/core/credit/due/grant-plans'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { listEntries } from '@matte/core/credit/list/ledger-queries'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { setOperatorPlan } from '@matte/core/credit/operator-plan'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import { ProviderRefused } from '@matte/people/payment/provider/provider-errors'
import { createRefund } from '@matte/people/payment/refunds'
import { deleteTeam } from '@matte/people/team/delete-team'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { claimNext, givenTask, ownModel, success } from '../support/factories.ts'
import { buyFor, givenBuyer, wanted } from './payment-buyers.ts'
import { paymentWorld } from './payment-world.ts'

const database = useDatabase()
const plan = { ...planNamed(defaultPlans, 'business'), concurrentTasks: 1_000 }
const plans = { ...defaultPlans, business: plan }

/** A rejection because another writer was first is a valid result. */
async function orRefused(acting: Promise<unknown>): Promise<void> {
  try {
    await acting
  } catch (error) {
    if (!(error instanceof MatteError)) throw error
  }
}

async function entriesOf(db: Db, workspaceId: string) {
  const entries = await listEntries(db, { workspaceId }, { limit: 10_000, offset: 0, after: undefined })
  return entries.toReversed()
}

/** Brings the balance to zero with every kind of movement. */
async function expectChained(db: Db, workspaceId: string): Promise<void> {
  expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
  const entries = await entriesOf(db, workspaceId)
  let balance = 0
  for (const { change, balanceAfter } of entries) {
    balance += change
    expect(balanceAfter).toBe(balance)
  }
  expect([balance, (await readBalance(db, workspaceId)).total]).toEqual([0, 0])
  const { rows } = await sql<{ pair: string }>`
    select distinct from_account || '>' || to_account as pair from credit_entry
     where workspace_id = ${workspaceId} order by 1`.execute(db)
  expect(rows.map(({ pair }) => pair)).toEqual([
    ...['available>adjusted', 'available>expired', 'available>held', 'available>refunded', 'held>available'],
    ...['held>spent', 'refunded>available', 'source>available'],
  ])
  // An entry that gives back is a failed refund and shows no other kind.
  const typed = new Map(entries.map(({ type, change }) => [`${type} ${Math.sign(change)}`, true]))
  expect([...typed.keys()].sort()).toEqual([
    ...['adjust -1', 'adjust 1', 'capture 0', 'expire -1', 'grant 1', 'hold -1', 'refund -1', 'refund 1', 'release 1'],
  ])
}

it('every balance follows from the previous one with all writers running concurrently', async () => {
  const { db } = database
  const world = paymentWorld(db)
  const { workspaceId, userId } = await givenBuyer(db)
  await db.updateTable('workspace').set({ kind: 'team', plan: 'business' }).where('id', '=', workspaceId).execute()
  const orders = [await buyFor(world, { workspaceId, userId }, wanted.pack)]
  orders.push(await buyFor(world, { workspaceId, userId }, wanted.pack))
  const refuses = () => Promise.reject(new ProviderRefused('no'))
  const failing = { ...world.deps, provider: { ...world.deps.provider, refund: refuses } }
  const refund = (deps: PaymentDeps, index: number) =>
    createRefund(deps, {
      workspaceId,
      orderId: orders[index % 2]?.id ?? '',
      amount: 45,
      reason: 'r',
      userId,
      once: undefined,
    })
  const ends = ['cancel', 'finish'] as const
  const endTask = async (how: (typeof ends)[number]) => {
    const model = ownModel()
    const { id } = await givenTask(db, { id: workspaceId, plan }, { model })
    if (how === 'cancel') return cancelTask(db, workspaceId, id)
    const claim = await claimNext(db, [model])
    if (claim !== undefined) return finishTask(db, claim, success(claim))
    // The maximum number is running.
    return cancelTask(db, workspaceId, id)
  }
  const lapse = async (index: number) => {
    await grantCredits(db, {
      workspaceId,
      kind: 'test',
      amount: 3,
      expiresAt: new Date(Date.now() - 1),
      source: `l${index}`,
    })
    await expireCredits(db)
  }
  const writers = Array.from({ length: 8 }, (_, index) => [
    endTask('cancel'),
    endTask('finish'),
    orRefused(refund(world.deps, index)),
    orRefused(refund(failing, index)),
    adjustCredits(db, { workspaceId, amount: 7, reason: 'up', reference: `up${index % 4}` }),
    orRefused(adjustCredits(db, { workspaceId, amount: -5, reason: 'down', reference: `down${index % 4}` })),
    grantCredits(db, { workspaceId, kind: 'referral', amount: 50, source: `referral:${index % 3}` }),
    lapse(index),
    db.transaction().execute((tx) => setOperatorPlan(tx, plans, { workspaceId, plan: 'business' })),
    grantDuePlans(db, plans),
  ]).flat()
  await Promise.all(writers)
  const owner = { teamId: workspaceId, userId }
  await deleteTeam(db, { owner, confirmCreditLoss: true })
  await expectChained(db, workspaceId)
})

// Credit events from their cause to the signed delivery. Each is sent once, also with several replicas or after a
// crash.
import { readAlertSettings, writeAlertSettings } from '@matte/core/credit/alert-settings'
import { announceLowBalances } from '@matte/core/credit/due/announce-low-balance'
import { warnOfExpiry } from '@matte/core/credit/due/warn-of-expiry'
import { type Grant, grantCredits } from '@matte/core/credit/lot-queries'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { serviceSignature } from '@matte/core/webhook/signature'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { creditLoops } from '@matte/dispatcher/due/credit-loops'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { withEveryCrash } from '../core/every-crash.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { claimNext, givenTask, givenWorkspace, ownModel, success } from '../support/factories.ts'
import { processDb } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { createDispatcher, masterKeys } from './in-process.ts'
import * as lowering from './lower-balance.ts'
import { startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const inDays = (days: number): Date => new Date(Date.now() + days * 24 * 3_600_000)
const paying = async (credits: number) => {
  const { id } = await givenWorkspace(database.db, { plan: 'business', credits })
  return { id, plan: planNamed(defaultPlans, 'business') }
}
type Paying = Awaited<ReturnType<typeof paying>>

const begin = async (workspace: Paying): Promise<{ id: string; model: string }> => {
  const model = ownModel()
  return { id: (await givenTask(database.db, workspace, { model })).id, model }
}

async function end(model: string): Promise<void> {
  const claim = await claimNext(database.db, [model])
  if (claim === undefined) throw new Error('the task could not be claimed')
  await finishTask(database.db, claim, success(claim))
}

/** Succeeds so many tasks of the workspace, one after the other. */
async function spend(workspace: Paying, credits: number): Promise<void> {
  for (let spent = 0; spent < credits; spent++) await end((await begin(workspace)).model)
}

const grant = (workspaceId: string, wanted: Partial<Grant> & { amount: number }) =>
  grantCredits(database.db, { workspaceId, kind: 'test', ...wanted })

/** Notifications of the workspace. */
async function published(workspaceId: string, event: string) {
  const rows = await database.db
    .selectFrom('notification_due')
    .select(['fields', 'user_id'])
    .where('workspace_id', '=', workspaceId)
    .where('event', '=', event)
    .orderBy('id')
    .execute()
  return rows.map(({ fields }) => fields)
}

/** A receiver, registered as an endpoint for all events, and a dispatcher with these loops. */
async function givenReceiver(workspaceId: string) {
  const receiver = await startReceiver()
  const dispatcher = createDispatcher(database.db)
  const endpoint = await createEndpoint(database.db, masterKeys, {
    workspaceId,
    targetUrl: receiver.url,
    url: new URL(receiver.url),
    eventTypes: [],
    description: null,
  })
  const { logger } = dispatcher.deps
  const loops = creditLoops({ db: database.db, plans: defaultPlans, wake: dispatcher.due.wake, logger })
  ends.push(() => receiver.close())
  for (const service of [dispatcher.due, ...loops]) await service.start()
  ends.push(async () => {
    for (const service of loops) await service.stop()
    await dispatcher.stop()
  })
  return { receiver, secret: endpoint.signingSecret }
}

type Arrived = { readonly headers: Record<string, unknown>; readonly body: string }

async function untilSigned({ receiver, secret }: Awaited<ReturnType<typeof givenReceiver>>, event: string) {
  const arrived = await until<Arrived | undefined>(`${event} arrives`, () =>
    receiver.received.find(({ body }) => JSON.parse(body).event === event),
  )
  const signature = String(arrived.headers['x-service-signature'])
  const at = Number(/^t=(\d+),/.exec(signature)?.[1])
  expect(signature).toBe(serviceSignature(secret, at, arrived.body))
  return JSON.parse(arrived.body) as Record<string, unknown>
}

describe('credits.low_balance', () => {
  const event = 'credits.low_balance'
  const pass = () => announceLowBalances(processDb('dispatcher', database.db))

  it('is delivered, signed, after the task that takes the balance below the threshold', async () => {
    const workspace = await paying(11)
    const place = await givenReceiver(workspace.id)
    await spend(workspace, 1)
    await spend(workspace, 1)
    const body = await untilSigned(place, event)
    expect(body).toEqual({ event, balance: 9, message: '9 credit(s) are left, fewer than 10.' })
    expect(Object.keys(body)).toEqual(['event', 'balance', 'message'])
  })

  it('is sent once until credits are granted again', async () => {
    const workspace = await paying(12)
    await spend(workspace, 2)
    await pass()
    expect(await published(workspace.id, event)).toEqual([])
    await spend(workspace, 1)
    await pass()
    await spend(workspace, 2)
    await pass()
    expect(await published(workspace.id, event)).toMatchObject([{ balance: 9 }])
    await grant(workspace.id, { amount: 5 })
    await pass()
    await spend(workspace, 3)
    await pass()
    expect(await published(workspace.id, event)).toMatchObject([{ balance: 9 }, { balance: 9 }])
  })

  it('is not rearmed by a grant that was made before the event', async () => {
    const workspace = await paying(10)
    await grant(workspace.id, { amount: 1, source: 'a' })
    await spend(workspace, 2)
    await pass()
    await grant(workspace.id, { amount: 1, source: 'a' })
    await spend(workspace, 1)
    await pass()
    expect(await published(workspace.id, event)).toHaveLength(1)
  })

  it('counts the balance of all lots together', async () => {
    const workspace = await paying(2)
    await grant(workspace.id, { amount: 100, priority: 90 })
    await spend(workspace, 2)
    await pass()
    expect(await published(workspace.id, event)).toEqual([])
  })

  it.each([
    ['an expiry', lowering.expire],
    ['a refund', lowering.refund],
    ["an operator's correction", lowering.correct],
    ['a batch that is accepted', lowering.holdBatch],
    ['a release after the lot has lapsed', lowering.releaseLapsed],
  ])('is sent once after %s', async (_what, lower) => {
    const workspace = await paying(0)
    await lower(database.db, workspace)
    await pass()
    await spend(workspace, 1)
    await pass()
    expect(await published(workspace.id, event)).toMatchObject([{ balance: 9 }])
  })

  it('is not sent for released credits, for a grant that stays below the threshold, or with a threshold of 0', async () => {
    const held = await paying(10)
    await cancelTask(database.db, held.id, (await begin(held)).id)
    await pass()
    expect(await published(held.id, event)).toEqual([])
    const few = await paying(10)
    await spend(few, 3)
    await pass()
    await grant(few.id, { amount: 2 })
    await spend(few, 1)
    await pass()
    expect(await published(few.id, event)).toMatchObject([{ balance: 7 }])
    const silent = await paying(3)
    await writeAlertSettings(database.db, silent.id, { lowBalanceThreshold: 0, expiryDaysBefore: 7 })
    await spend(silent, 3)
    await pass()
    expect(await published(silent.id, event)).toEqual([])
  })

  it('has a threshold of 3 on Free, which is below the grant, and members can change it', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free', credits: 10 })
    const free = { id, plan: { ...planNamed(defaultPlans, 'free'), concurrentTasks: 3 } }
    expect(await readAlertSettings(database.db, id)).toMatchObject({ lowBalanceThreshold: 3 })
    await spend(free, 7)
    await pass()
    expect(await published(id, event)).toEqual([])
    await spend(free, 1)
    await pass()
    expect(await published(id, event)).toMatchObject([{ balance: 2 }])
    await grant(id, { amount: 9 })
    await writeAlertSettings(database.db, id, { lowBalanceThreshold: 10, expiryDaysBefore: 7 })
    expect(await readAlertSettings(database.db, id)).toMatchObject({ lowBalanceThreshold: 10 })
    await spend(free, 2)
    await pass()
    expect(await published(id, event)).toMatchObject([{ balance: 2 }, { balance: 9 }])
  })

  it('is sent once with several replicas', async () => {
    const workspace = await paying(10)
    await spend(workspace, 1)
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    ends.push(() => Promise.all(replicas.map((replica) => replica.stop())))
    const counts = await Promise.all(replicas.map(({ db }) => announceLowBalances(db)))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await published(workspace.id, event)).toHaveLength(1)
  })

  it('is sent once, whichever statement the process dies at', async () => {
    const workspace = await paying(10)
    await spend(workspace, 1)
    await withEveryCrash(database.db, announceLowBalances)
    await pass()
    expect(await published(workspace.id, event)).toHaveLength(1)
  })

  it('is rearmed by a grant that waits for the announcement', async () => {
    const workspace = await paying(10)
    await spend(workspace, 1)
    let granting: Promise<unknown> | undefined
    await database.db.transaction().execute(async (tx) => {
      await sql`select from workspace where id = ${workspace.id} for no key update`.execute(tx)
      granting = grant(workspace.id, { amount: 3 })
      await until('the grant waits for the lock', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like '%insert into credit_lot%'`.execute(database.db)
        return rows.length > 0
      })
      await sql`update workspace set low_balance_armed = false where id = ${workspace.id}`.execute(tx)
    })
    await granting
    const row = await database.db.selectFrom('workspace').selectAll().where('id', '=', workspace.id).execute()
    expect(row).toMatchObject([{ low_balance_armed: true }])
  })
})

describe('credits.expiration_warning', () => {
  const event = 'credits.expiration_warning'
  const pass = () => warnOfExpiry(processDb('dispatcher', database.db))

  it('is delivered, signed, as many days before a lot ends as the workspace has set', async () => {
    const workspace = await paying(0)
    const expiresAt = inDays(6.5)
    await grant(workspace.id, { amount: 40, expiresAt })
    const place = await givenReceiver(workspace.id)
    const body = await untilSigned(place, event)
    const expiry_date = expiresAt.toISOString()
    const message = `40 credit(s) expire on ${expiry_date.slice(0, 10)}.`
    expect(body).toEqual({ event, credits: 40, expiry_date, message })
  })

  it('is not sent early, nor for lots that are spent, ended or already announced', async () => {
    const { id } = await paying(0)
    await grant(id, { amount: 1, expiresAt: inDays(7.5) })
    const spent = await grant(id, { amount: 1, expiresAt: inDays(2) })
    const ended = await grant(id, { amount: 1, expiresAt: inDays(2) })
    await sql`update credit_lot set available = 0, spent = 1 where id = ${spent?.lotId}`.execute(database.db)
    await sql`update credit_lot set expires_at = now() where id = ${ended?.lotId}`.execute(database.db)
    const warned = await grant(id, { amount: 1, expiresAt: inDays(2) })
    await sql`insert into credit_expiry_warning (lot_id, days) values (${warned?.lotId}, 7)`.execute(database.db)
    await pass()
    expect(await published(id, event)).toEqual([])
  })

  it('is sent once per lot with several replicas, and whichever statement a process dies at', async () => {
    const { id } = await paying(0)
    await grant(id, { amount: 1, expiresAt: inDays(1) })
    await grant(id, { amount: 2, expiresAt: inDays(2) })
    await withEveryCrash(database.db, warnOfExpiry)
    await grant(id, { amount: 3, expiresAt: inDays(3) })
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    ends.push(() => Promise.all(replicas.map((replica) => replica.stop())))
    await Promise.all(replicas.map(({ db }) => warnOfExpiry(db)))
    await pass()
    const fields = (await published(id, event)) as { credits: number }[]
    expect(fields.map(({ credits }) => credits).sort()).toEqual([1, 2, 3])
  })
})

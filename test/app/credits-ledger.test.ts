// The ledger as members read it: every movement, with balances that follow from entry to entry.
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import { adjustCredits } from '@matte/core/credit/adjust-credits'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { refundCredits } from '@matte/core/credit/refund-credits'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenBatch, givenTask, ownModel, success, type TestWorkspace } from '../support/factories.ts'

const world = useApi()

type Entry = {
  id: string
  type: string
  amount: number
  credits: number
  balanceAfter: number
  lotId: string
  taskId: string | null
  orderId: string | null
  description: string
  createdAt: string
}
type Page = { items: Entry[]; page: number; total: number; totalIsMinimum?: true; nextCursor: string | null }

const ledger = async ({ client }: Pick<Person, 'client'>, query = ''): Promise<Page> =>
  (await client.call<Page>('GET', `/credits/ledger${query}`)).data

const plan = { ...planNamed(defaultPlans, 'business'), concurrentTasks: 100 }
const owned = ({ workspaceId }: Person): TestWorkspace => ({
  id: workspaceId,
  plan,
})

/** A task of a separate model with this outcome. */
async function endTask(person: Person, how: 'succeed' | 'fail' | 'cancel' | 'wait'): Promise<string> {
  const model = ownModel()
  const { id } = await givenTask(world.db, owned(person), { model })
  if (how === 'wait') return id
  if (how === 'cancel') {
    await cancelTask(world.db, person.workspaceId, id)
    return id
  }
  const plans = { business: plan }
  const [claim] = (await claimNextTasks(world.db, { models: [model], limit: 1, plans, claimMs: 600_000 })).tasks
  if (claim === undefined) throw new Error('the task could not be claimed')
  if (how === 'succeed') await finishTask(world.db, claim, success(claim))
  else await failAttempt(world.db, claim, 'INPUT_UNREADABLE')
  return id
}

/** Newest first: each balance is that of the previous entry plus the entry's own amount. */
function expectChained(entries: readonly Entry[]): void {
  for (const [index, entry] of entries.entries()) {
    const before = entries[index + 1]
    if (before !== undefined) expect(entry.balanceAfter).toBe(before.balanceAfter + entry.amount)
  }
}

describe('GET /credits/ledger', () => {
  let person: Person
  let tasks: { done: string; failed: string; canceled: string }

  beforeAll(async () => {
    person = await givenPerson(world.db, world.api, { plan: 'business', credits: 10 })
    const { workspaceId } = person
    const { db } = world
    tasks = {
      done: await endTask(person, 'succeed'),
      failed: await endTask(person, 'fail'),
      canceled: await endTask(person, 'cancel'),
    }
    const pack = await grantCredits(db, { workspaceId, kind: 'pack', amount: 20, priority: 60 })
    await db
      .transaction()
      .execute((tx) => refundCredits(tx, { workspaceId, lotId: pack?.lotId ?? '', amount: 5, reference: 'refund:1' }))
    await adjustCredits(db, { workspaceId, amount: 3, reason: 'Sorry for the outage', reference: 'a' })
    await adjustCredits(db, { workspaceId, amount: -12, reason: 'Counted twice', reference: 'b' })
    const ending = await grantCredits(db, {
      workspaceId,
      kind: 'plan',
      amount: 4,
      expiresAt: new Date(Date.now() + 1e8),
    })
    await sql`update credit_lot set expires_at = now() where id = ${ending?.lotId}`.execute(db)
    await expireCredits(db)
  })

  it('has every movement, newest first, each with the balance after it', async () => {
    const { items, total } = await ledger(person)
    const rows = items.map(({ type, amount, credits, balanceAfter }) => [type, amount, credits, balanceAfter])
    expect(rows).toEqual([
      ['expire', -4, 4, 15],
      ['grant', 4, 4, 19],
      ['adjust', -3, 3, 15],
      ['adjust', -9, 9, 18],
      ['adjust', 3, 3, 27],
      ['refund', -5, 5, 24],
      ['grant', 20, 20, 29],
      ['release', 1, 1, 9],
      ['hold', -1, 1, 8],
      ['release', 1, 1, 9],
      ['hold', -1, 1, 8],
      ['capture', 0, 1, 9],
      ['hold', -1, 1, 9],
      ['grant', 10, 10, 10],
    ])
    expect(total).toBe(14)
    expectChained(items)
    const balance = await person.client.call('GET', '/credits/balance')
    expect(balance.data).toMatchObject({ available: 15 })
    expect(items.map(({ description }) => description)).toContain('Sorry for the outage')
  })

  it('names the task of a hold, a capture and a release, and of nothing else', async () => {
    const { items } = await ledger(person)
    const byTask = items.filter(({ taskId }) => taskId !== null).map(({ type, taskId }) => [type, taskId])
    expect(byTask).toEqual([
      ['release', tasks.canceled],
      ['hold', tasks.canceled],
      ['release', tasks.failed],
      ['hold', tasks.failed],
      ['capture', tasks.done],
      ['hold', tasks.done],
    ])
  })

  it.each(['grant', 'hold', 'capture', 'release', 'expire', 'refund', 'adjust'])(
    'of type %s has these entries, with their balances among all',
    async (type) => {
      const all = (await ledger(person)).items.filter((entry) => entry.type === type)
      expect(all.length).toBeGreaterThan(0)
      expect(await ledger(person, `?type=${type}`)).toMatchObject({ items: all, total: all.length })
    },
  )

  it('has the same entries by page and by cursor', async () => {
    const { items } = await ledger(person)
    for (const query of ['', '&type=hold']) {
      const wanted = query === '' ? items : items.filter(({ type }) => type === 'hold')
      const byCursor: Entry[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: Page = await ledger(person, `?pageSize=2${query}${cursor && `&cursor=${cursor}`}`)
        byCursor.push(...page.items)
        cursor = page.nextCursor
      }
      expect(byCursor).toEqual(wanted)
      expect((await ledger(person, `?pageSize=2&page=2${query}`)).items).toEqual(wanted.slice(2, 4))
    }
  })

  it('is filtered by dates, both inclusive', async () => {
    const { items } = await ledger(person)
    const today = items[0]?.createdAt.slice(0, 10)
    expect((await ledger(person, `?startDate=${today}&endDate=${today}`)).items).toEqual(items)
    expect((await ledger(person, '?endDate=2020-01-01')).items).toEqual([])
    const at = items[3]?.createdAt ?? ''
    const from = items.filter(({ createdAt }) => createdAt >= at)
    expect((await ledger(person, `?startDate=${at}`)).items).toEqual(from)
  })

  it('names the order of a purchase and of its refund', async () => {
    const { workspaceId } = person
    const { lotId } = (await ledger(person)).items.find(({ type }) => type === 'refund') ?? {}
    const { rows } = await sql<{ id: string }>`
      insert into payment_order (workspace_id, kind, status, description, pack_id, credits, amount, currency, provider,
                                 lot_id, paid_at)
      values (${workspaceId}, 'pack', 'paid', 'p', 'p', 20, 1, 'EUR', 'sandbox', ${lotId}, now())
      returning id`.execute(world.db)
    const named = (await ledger(person)).items.filter(({ orderId }) => orderId !== null)
    expect(named.map(({ type, orderId }) => [type, orderId])).toEqual([
      ['refund', rows[0]?.id],
      ['grant', rows[0]?.id],
    ])
  })

  it('has nothing of another workspace', async () => {
    const other = await givenPerson(world.db, world.api, { credits: 2 })
    expect(await ledger(other)).toMatchObject({ total: 1, items: [{ type: 'grant', amount: 2, balanceAfter: 2 }] })
  })

  it.each([
    ['type=spend', '/query/type'],
    ['cursor=abc', '/query/cursor'],
    [`cursor=${Buffer.from('1.b3f1a7c2-5d0e-4e63-9b42-7a1f6c0d2e90.2').toString('base64url')}`, '/query/cursor'],
    ['startDate=2026-02-30', '/query/startDate'],
    ['startDate=2026-02-02&endDate=2026-02-01', '/query/endDate'],
    ['pageSize=101', '/query/pageSize'],
  ])('rejects %s', async (query, path) => {
    const details = { issues: [expect.objectContaining({ path })] }
    await expect(ledger(person, `?${query}`)).rejects.toMatchObject({ code: 'INVALID_PARAMS', details })
  })
})

describe('the balance after an entry', () => {
  it('follows from entry to entry with many concurrent tasks of a workspace', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'business', credits: 7 })
    await grantCredits(world.db, { workspaceId: person.workspaceId, kind: 'pack', amount: 50, priority: 60 })
    const ways = ['succeed', 'fail', 'cancel', 'wait'] as const
    await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        await endTask(person, ways[index % ways.length] ?? 'wait')
        if (index % 8 === 0) {
          await grantCredits(world.db, { workspaceId: person.workspaceId, kind: 'pack', amount: 1 })
        }
      }),
    )
    const { items } = await ledger(person, '?pageSize=100')
    expect(items).toHaveLength(24 + 18 + 5)
    expectChained(items)
    expect(items.at(-1)).toMatchObject({ balanceAfter: 7 })
    const balance = await person.client.call<{ available: number }>('GET', '/credits/balance')
    expect(items[0]?.balanceAfter).toBe(balance.data.available)
  })

  it('follows through holds and releases of a batch over several lots', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'business', credits: 3 })
    await grantCredits(world.db, { workspaceId: person.workspaceId, kind: 'pack', amount: 9, priority: 60 })
    const { batch } = await givenBatch(world.db, owned(person), { size: 6, model: ownModel() })
    await cancelBatch(world.db, person.workspaceId, batch.id)
    const { items } = await ledger(person)
    expect(items.map(({ type }) => type)).toEqual([
      ...Array<string>(6).fill('release'),
      ...Array<string>(6).fill('hold'),
      'grant',
      'grant',
    ])
    expectChained(items)
    expect(items[0]).toMatchObject({ balanceAfter: 12 })
  })

  it('exists for entries of a release that does not write it', async () => {
    const person = await givenPerson(world.db, world.api, { credits: 5 })
    await sql`
      with lot as (
        update credit_lot set available = available - 2, expired = 2 where workspace_id = ${person.workspaceId}
        returning id, workspace_id
      )
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
      select workspace_id, id, 'available', 'expired', 2 from lot`.execute(world.db)
    const { items } = await ledger(person)
    expect(items.map(({ amount, balanceAfter }) => [amount, balanceAfter])).toEqual([
      [-2, 3],
      [5, 5],
    ])
  })
})

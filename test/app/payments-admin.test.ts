// `matte-admin` commands for payments.
import { grantDuePlans } from '@matte/core/credit/due/grant-plans'
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { admin as runAdmin } from '../support/admin.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson } from '../support/app/people.ts'
import { sweepPayments } from '../support/app/sweep-payments.ts'
import { processDb } from '../support/roles.ts'

const world = useApi()
const dayMs = 24 * 60 * 60 * 1_000
const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`

const refund = (args: readonly string[], env?: Record<string, string>) => admin(['refund', ...args], env)

const admin = (args: readonly string[], env: Record<string, string> = {}) =>
  runAdmin(args, { DATABASE_URL: world.databaseUrl, MASTER_KEYS: masterKeys, ...env })

it('matte-admin refund pays back the rest, and reports why it cannot', async () => {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const { id: orderId } = await buy(someone, { packId: 'small' })
  const part = await refund(['--order', orderId, '--amount', '90', '--reason', 'goodwill'])
  expect(part).toMatchObject({ orderId, status: 'succeeded', amount: 90, currency: 'USD', credits: 10 })
  expect(await refund(['--order', orderId, '--reason', 'all'])).toMatchObject({ amount: 810, credits: 90 })
  const nothing = { code: 1, stderr: expect.stringContaining('The order is refunded') }
  await expect(refund(['--order', orderId, '--reason', 'again'])).rejects.toMatchObject(nothing)
  const elsewhere = refund(['--order', orderId, '--reason', 'x'], { PAYMENTS_PROVIDER: 'none' })
  await expect(elsewhere).rejects.toMatchObject({ code: 1 })
  await expect(refund(['--order', orderId])).rejects.toMatchObject({ code: 2 })
  await expect(refund(['--order', orderId, '--reason', 'x'], { MASTER_KEYS: '' })).rejects.toMatchObject({ code: 2 })
})

it('matte-admin ends subscriptions and refunds while accounts are disabled, as the refusal to start demands', async () => {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const { id: orderId } = await buy(someone, { packId: 'small' })
  await buy(someone, { plan: 'pro', interval: 'month' })
  const env = { ACCOUNTS_ENABLED: 'false', PAYMENTS_PROVIDER: 'sandbox' }
  expect(await refund(['--order', orderId, '--reason', 'goodwill'], env)).toMatchObject({ status: 'succeeded' })
  const ended = await admin(['subscription', 'end', '--workspace', someone.workspaceId, '--yes'], env)
  expect(ended).toMatchObject({ ended: 1, plan: 'free' })
})

it('matte-admin sets a plan once the subscription has ended, which returns after the next subscription', async () => {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const { workspaceId, client } = someone
  const own = ['--workspace', workspaceId]
  const read = () =>
    world.db.selectFrom('workspace').selectAll().where('id', '=', workspaceId).executeTakeFirstOrThrow()
  await buy(someone, { plan: 'pro', interval: 'month' }, { declineRenewals: true })
  await sweepPayments(world, new Date(Date.now() + 32 * dayMs))
  const toDo = `matte-admin subscription end --workspace ${workspaceId}`
  const refused = { code: 1, stderr: expect.stringContaining(toDo) }
  await expect(admin(['workspace', 'plan', ...own, '--plan', 'business'])).rejects.toMatchObject(refused)
  await expect(admin(['subscription', 'end', ...own])).rejects.toMatchObject({ code: 2 })
  expect(await admin(['subscription', 'end', ...own, '--yes'])).toEqual({ workspaceId, ended: 1, plan: 'free' })
  expect(await admin(['subscription', 'end', ...own, '--yes'])).toMatchObject({ ended: 0 })
  const set = await admin(['workspace', 'plan', ...own, '--plan', 'business'])
  expect(set).toEqual({ workspaceId, plan: 'business', creditsOfThisMonth: 10_000 })

  await buy(someone, { plan: 'enterprise', interval: 'month' })
  expect(await read()).toMatchObject({ plan: 'enterprise' })
  await client.call('POST', '/payments/subscription/cancel')
  // A month begins during the subscription: the operator's plan grants nothing in it.
  await world.db
    .updateTable('workspace')
    .set({ plan_credits_due_at: new Date(0) })
    .where('id', '=', workspaceId)
    .execute()
  await grantDuePlans(processDb('dispatcher', world.db), world.api.config.plans)
  expect(await read()).toMatchObject({ plan_credits_due_at: null })
  await sweepPayments(world, new Date(Date.now() + 64 * dayMs))
  expect(await read()).toMatchObject({ plan: 'business', plan_credits_due_at: expect.any(Date) })
  // This month's credits were granted before; another plan has its own.
  await grantDuePlans(processDb('dispatcher', world.db), world.api.config.plans)
  const lots = await world.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspaceId).execute()
  expect(lots.filter(({ source }) => source?.startsWith('plan:business'))).toHaveLength(1)
  expect(await read()).toMatchObject({ plan: 'business', plan_credits_due_at: expect.any(Date) })
})

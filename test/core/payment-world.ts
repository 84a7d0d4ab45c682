// Payments at a simulated time, with the sandbox as the provider, and no process around them.

import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/core/payment/due-payments'
import { createOrder, type Wanted } from '@matte/core/payment/orders'
import type { PaymentDeps } from '@matte/core/payment/payment-deps'
import { sandboxProvider, signSandboxEvent } from '@matte/core/payment/provider/sandbox/sandbox-provider'
import { receiveEvent } from '@matte/core/payment/receive-event'
import { paySandbox } from '@matte/core/payment/sandbox'
import { openPayments, paymentSettings } from '@matte/core/payment/settings'
import { parseEnv } from '@matte/core/runtime/env'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { defaultPlans } from '@matte/core/workspace/plan'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'

const masterKeys = parseMasterKeys(`test:${Buffer.alloc(32, 1).toString('base64')}`)
export const hourMs = 60 * 60 * 1_000
export const dayMs = 24 * hourMs

export type Clock = { now: Date }

export type PaymentWorld = {
  readonly deps: PaymentDeps
  readonly clock: Clock
  pass(ms: number): void
  /** Does what is due, all of it. */
  due(): Promise<void>
  deliver(body: string): Promise<string>
}

/** Simulated time begins now: the database's own clock judges whether credits can be spent. */
export function paymentWorld(db: Db): PaymentWorld {
  const clock: Clock = { now: new Date() }
  const now = (): Date => clock.now
  const settings = parseEnv(paymentSettings, {})
  const around = { environment: 'development', plans: defaultPlans } as const
  const publicUrl = 'http://localhost'
  const opened = openPayments(settings, { db, masterKeys, publicUrl, ...around })
  const deps = { ...opened, provider: sandboxProvider({ db, masterKeys, publicUrl, now }), now }
  return {
    deps,
    clock,
    pass: (ms) => {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    due: async () => {
      const { failures } = await sweepParts(paymentParts(deps))
      for (const { error } of failures) throw error
    },
    deliver: (body) => receiveEvent(deps, Buffer.from(body), signSandboxEvent(masterKeys, body)),
  }
}

/** A workspace on plan Free with its owner. */
export async function givenBuyer(db: Db): Promise<{ workspaceId: string; userId: string }> {
  const { id: workspaceId } = await insertWorkspace(db, { name: 'buyer', plan: 'free' })
  const { id: userId } = await db
    .insertInto('app_user')
    .values({ email: `${workspaceId}@example.com` })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db.insertInto('membership').values({ workspace_id: workspaceId, user_id: userId, role: 'owner' }).execute()
  return { workspaceId, userId }
}

type Buyer = Awaited<ReturnType<typeof givenBuyer>>

export const orderFor = ({ deps }: PaymentWorld, buyer: Buyer, wanted: Wanted) =>
  createOrder(deps, { ...buyer, email: null, wanted, returnUrl: 'http://localhost/billing', once: undefined })

export async function buyFor(world: PaymentWorld, buyer: Buyer, wanted: Wanted) {
  const order = await orderFor(world, buyer, wanted)
  await paySandbox(world.deps, { orderId: order.id, outcome: 'succeed', declineRenewals: false })
  return order
}

export const month = { kind: 'subscription', plan: 'pro', interval: 'month' } as const
export const year = { kind: 'subscription', plan: 'pro', interval: 'year' } as const
export const pack = { kind: 'pack', packId: 'small' } as const

/** Events that the sandbox has to send, taken out of its hands. */
export async function takeEvents(db: Db): Promise<string[]> {
  const rows = await db
    .updateTable('sandbox_event')
    .set({ delivered_at: new Date() })
    .where('delivered_at', 'is', null)
    .returning(['position', 'body'])
    .execute()
  return rows.sort((a, b) => a.position - b.position).map(({ body }) => body)
}

/** All that a workspace has, without ids and times of ours. */
export async function readEnd(db: Db, workspaceId: string) {
  const own = { workspace_id: workspaceId }
  const where = <T extends { where: (column: 'workspace_id', operator: '=', value: string) => T }>(query: T): T =>
    query.where('workspace_id', '=', own.workspace_id)
  const sorted = (rows: readonly object[]): string[] => rows.map((row) => JSON.stringify(row)).sort()
  const orders = await where(
    db
      .selectFrom('payment_order')
      .select(['reason', 'status', 'description', 'credits', 'amount', 'refunded_amount', 'refunded_credits']),
  ).execute()
  const subscriptions = await where(
    db
      .selectFrom('subscription')
      .select(['plan', 'billing_interval', 'status', 'cancel_at_period_end', 'period_start', 'period_end', 'ended_at']),
  ).execute()
  const lots = await where(
    db.selectFrom('credit_lot').select(['kind', 'granted', 'available', 'refunded', 'expires_at']),
  ).execute()
  const invoices = await where(db.selectFrom('invoice').select(['subtotal', 'tax', 'total', 'currency'])).execute()
  const refunds = await where(db.selectFrom('refund').select(['status', 'amount', 'credits'])).execute()
  const { plan } = await db
    .selectFrom('workspace')
    .select('plan')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return {
    plan,
    orders: sorted(orders),
    subscriptions: sorted(subscriptions),
    lots: sorted(lots),
    invoices: sorted(invoices),
    refunds: sorted(refunds),
  }
}

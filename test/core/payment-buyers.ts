import type { Db } from '@matte/core/db/database'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { createOrder, type Wanted } from '@matte/people/payment/orders'
import { paySandbox } from '@matte/people/payment/sandbox'
import type { PaymentWorld } from './payment-world.ts'

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
  await paySandbox(world.deps, { orderId: order.id, outcome: 'succeed', declineRenewals: false, failRefunds: false })
  return order
}

const month = { kind: 'subscription', plan: 'pro', interval: 'month' } as const
const year = { kind: 'subscription', plan: 'pro', interval: 'year' } as const
const pack = { kind: 'pack', packId: 'small' } as const

export const wanted = { month, year, pack }

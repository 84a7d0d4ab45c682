// Purchases in the sandbox, as a person makes them.
import type { Db } from '@matte/core/db/database'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import { type SandboxOptions, sandboxProvider } from '@matte/people/payment/provider/sandbox/sandbox-provider'
import { withProvider } from '@matte/people/payment/settings'
import type { TestApi } from '../api.ts'
import type { Person } from './people.ts'

export type Order = {
  readonly id: string
  readonly kind: string
  readonly reason: string
  readonly status: string
  readonly amount: number
  readonly refundedAmount: number
  readonly credits: number
  readonly checkoutUrl: string | null
  readonly failure: string | null
}

type Buying = { readonly packId: string } | { readonly plan: string; readonly interval: 'month' | 'year' }
type Paying = { readonly outcome?: string; readonly declineRenewals?: boolean; readonly failRefunds?: boolean }

export async function order({ client }: Person, buying: Buying): Promise<Order> {
  const kind = 'packId' in buying ? 'pack' : 'subscription'
  return (await client.call<Order>('POST', '/payments/orders', { body: { kind, ...buying } })).data
}

export async function pay({ client }: Person, { id }: Pick<Order, 'id'>, paying: Paying = {}): Promise<Order> {
  const body = { outcome: 'succeed', ...paying }
  return (await client.call<Order>('POST', `/payments/sandbox/checkout/${id}`, { body })).data
}

export const buy = async (person: Person, buying: Buying, paying?: Paying): Promise<Order> =>
  pay(person, await order(person, buying), paying)

/** The functions behind the routes; `now` simulates a time. */
export function paymentsOf(db: Db, { config }: Pick<TestApi, 'config'>, now?: () => Date): PaymentDeps {
  const { masterKeys, publicUrl } = config
  const options: SandboxOptions = { db, masterKeys, publicUrl, now }
  return { ...withProvider(config, { ...config, db }, sandboxProvider(options)), now }
}

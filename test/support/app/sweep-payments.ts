import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/people/payment/due-payments'
import type { TestApi } from '../api.ts'
import { processDb } from '../roles.ts'
import { paymentsOf } from './payments.ts'

/** Runs everything that is due at a simulated time. */
export async function sweepPayments(world: { readonly db: Db; readonly api: Pick<TestApi, 'config'> }, now: Date) {
  const { failures } = await sweepParts(
    paymentParts(paymentsOf(processDb('dispatcher', world.db), world.api, () => now)),
  )
  for (const { error } of failures) throw error
}

import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/core/payment/due-payments'
import type { TestApi } from '../api.ts'
import { processDb } from '../roles.ts'
import { paymentsOf } from './payments.ts'

/** Does what is due at a simulated time, all of it. */
export async function sweepPayments(world: { readonly db: Db; readonly api: Pick<TestApi, 'config'> }, now: Date) {
  const { failures } = await sweepParts(
    paymentParts(paymentsOf(processDb('dispatcher', world.db), world.api, () => now)),
  )
  for (const { error } of failures) throw error
}

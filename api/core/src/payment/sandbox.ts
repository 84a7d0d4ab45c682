// The two ends of the sandbox that are ours: a payer's outcome is chosen, and its events come to us, signed, by the
// same function that the provider endpoint calls.
import { sql } from 'kysely'
import type { SweepPass } from '../db/sweep.ts'
import { MatteError } from '../error.ts'
import { timeOf } from './apply/applying.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { passPeriods, payCheckout } from './provider/sandbox/sandbox-life.ts'
import { signSandboxEvent } from './provider/sandbox/sandbox-signature.ts'
import type { SandboxOutcome } from './provider/sandbox/sandbox-state.ts'
import { receiveEvent } from './receive-event.ts'

type Payer = { readonly orderId: string; readonly outcome: SandboxOutcome; readonly declineRenewals: boolean }

/** @throws MatteError CONFLICT when nothing can be paid there */
export async function paySandbox(deps: PaymentDeps, { orderId, outcome, declineRenewals }: Payer): Promise<void> {
  const now = await timeOf(deps.db, deps)
  if (!(await payCheckout(deps.db, orderId, { outcome, declines: declineRenewals, now }))) {
    throw new MatteError('CONFLICT', 'Nothing can be paid at this checkout.')
  }
  await deliverSandboxEvents(deps)
}

export const passSandboxPeriods = async (deps: PaymentDeps, limit: number): Promise<number> =>
  deps.provider.name === 'sandbox' ? passPeriods(deps.db, { now: await timeOf(deps.db, deps), limit }) : 0

/** An event that failed comes again after so long. */
const retrySeconds = 10

/** Delivers what is due. Two that do it at once deliver twice, as providers do; each is applied once. */
export async function deliverSandboxEvents(deps: PaymentDeps, { limit = 50 }: SweepPass = {}): Promise<number> {
  if (deps.provider.name !== 'sandbox') return 0
  const { db, masterKeys } = deps
  const now = await timeOf(db, deps)
  const due = await db
    .selectFrom('sandbox_event')
    .select(['position', 'body'])
    .where('delivered_at', 'is', null)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('position')
    .limit(limit)
    .execute()
  for (const { position, body } of due) {
    const later = { due_at: sql<Date>`${now}::timestamptz + ${retrySeconds} * interval '1 second'` }
    await db.updateTable('sandbox_event').set(later).where('position', '=', position).execute()
    await receiveEvent(deps, Buffer.from(body), signSandboxEvent(masterKeys, body))
    await db.updateTable('sandbox_event').set({ delivered_at: now }).where('position', '=', position).execute()
  }
  return due.length
}

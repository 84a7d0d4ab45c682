// Disputes in the sandbox: a payer's bank opens one, and decides it.
import type { Db } from '@matte/core/db/database'
import {
  type DisputeState,
  disputeId,
  findPaid,
  listDisputes,
  lockState,
  type SandboxOutcome,
  sendEvents,
  writeState,
} from './sandbox-state.ts'

/** `inquire`: the bank asks, and moves no money. `open` after it withdraws the money. */
export type DisputeAction = 'open' | 'inquire' | 'win' | 'lose'

type Step = {
  readonly paymentId: string
  readonly action: DisputeAction
  readonly outcome: SandboxOutcome
  readonly now: Date
}

/** Returns the positions of the queued events; undefined if the payment has no dispute in a state for the action. */
export function dispute(db: Db, { paymentId, action, outcome, now }: Step): Promise<readonly number[] | undefined> {
  return db.transaction().execute(async (tx) => {
    const paid = await findPaid(tx, paymentId)
    // The lock orders concurrent actions.
    const payment = paid && (await lockState(tx, paid.kind, paid.id))
    if (payment === undefined) return undefined
    const { amount, currency } = payment
    const all = await listDisputes(tx, paymentId)
    const latest = all.at(-1)
    const opens = action === 'open' || action === 'inquire'
    const asked = latest?.status === 'warning_needs_response' ? latest : undefined
    if (opens ? isOpen(latest) && (action === 'inquire' || asked === undefined) : !isOpen(latest)) return undefined
    const made = { id: disputeId(paymentId, all.length + 1), paymentId, amount, currency, reason: 'fraudulent' }
    const base = opens ? (asked ?? made) : (latest as DisputeState)
    const state: DisputeState = { ...base, status: statusAfter(action, asked !== undefined) }
    await writeState(tx, { kind: 'dispute', id: state.id, state })
    const about = { kind: 'dispute', id: state.id } as const
    const types = eventsAfter(action, asked !== undefined)
    return sendEvents(
      tx,
      types.map((type) => ({ type: `dispute.${type}`, about })),
      { outcome, now },
    )
  })
}

const isOpen = (state: DisputeState | undefined): boolean =>
  state?.status === 'needs_response' || state?.status === 'warning_needs_response'

function statusAfter(action: DisputeAction, wasAsked: boolean): DisputeState['status'] {
  if (action === 'inquire') return 'warning_needs_response'
  if (action === 'open') return 'needs_response'
  if (action === 'win' && wasAsked) return 'warning_closed'
  return action === 'win' ? 'won' : 'lost'
}

/** As at Stripe. */
function eventsAfter(action: DisputeAction, wasAsked: boolean): readonly string[] {
  if (action === 'inquire') return ['created']
  if (action === 'open') return wasAsked ? ['updated', 'funds_withdrawn'] : ['created', 'funds_withdrawn']
  return action === 'win' && !wasAsked ? ['funds_reinstated', 'closed'] : ['closed']
}

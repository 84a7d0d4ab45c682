import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../../db/database.ts'
import type { Subject } from '../provider.ts'
import type { SandboxOutcome } from './sandbox-state.ts'

export const newId = (kind: string): string => `sandbox_${kind}_${randomUUID()}`

export const checkoutId = (orderId: string): string => `sandbox_checkout_${orderId}`

export type SandboxEventBody = {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly about: Subject
  readonly failure: string | null
}

type NewEvent = Pick<SandboxEventBody, 'type' | 'about'> & { readonly failure?: string }

/** How long `delay` keeps events back. */
const delayMs = 30_000

/** Events that are sent from now on: late, twice or in the reverse order, as the outcome says. Answers which. */
export async function sendEvents(
  tx: Db,
  events: readonly NewEvent[],
  { outcome, now }: { outcome: SandboxOutcome; now: Date },
): Promise<readonly number[]> {
  const bodies = events.map(({ type, about, failure = null }) =>
    JSON.stringify({ id: newId('event'), type, created: Math.floor(now.getTime() / 1_000), about, failure }),
  )
  const inOrder = outcome === 'reorder' ? bodies.toReversed() : bodies
  const sent = outcome === 'duplicate' ? [...inOrder, ...inOrder] : inOrder
  const due_at = outcome === 'delay' ? new Date(now.getTime() + delayMs) : now
  if (sent.length === 0) return []
  const rows = await tx
    .insertInto('sandbox_event')
    .values(sent.map((body) => ({ body, due_at })))
    .returning('position')
    .execute()
  return rows.map(({ position }) => position)
}

export const databaseTime = async (db: Db): Promise<Date> => {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return (rows[0] as { now: Date }).now
}

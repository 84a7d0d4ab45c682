// Provider events for credit-properties.faults.test.ts: in any order, repeated, several at a time.
import { grantCredits } from '@matte/core/credit/lot-queries'
import { refundCredits } from '@matte/core/credit/refund-credits'
import type { Db } from '@matte/core/db/database'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { expect } from 'vitest'

export type ProviderEvent =
  | { readonly order: number; readonly paid: number }
  | { readonly order: number; readonly refunded: number }

/** True once applied; a refund of an unknown order must be sent again. */
function apply(db: Db, workspaceId: string, event: ProviderEvent): Promise<boolean> {
  const source = `order:${event.order}`
  return db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId)
    if ('paid' in event) {
      await grantCredits(tx, { workspaceId, kind: 'pack', amount: event.paid, source })
      return true
    }
    const lot = await tx
      .selectFrom('credit_lot')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('source', '=', source)
      .executeTakeFirst()
    if (lot === undefined) return false
    await refundCredits(tx, { workspaceId, lotId: lot.id, amount: event.refunded, reference: `refund:${event.order}` })
    return true
  })
}

/** Sends like a provider: three at once, and again until accepted. */
export async function deliverUntilApplied(
  db: Db,
  workspaceId: string,
  events: readonly ProviderEvent[],
): Promise<void> {
  const waiting = [...events]
  for (let deliveries = 0; waiting.length > 0; deliveries++) {
    expect(deliveries).toBeLessThan(1_000)
    const batch = waiting.splice(0, 3)
    const taken = await Promise.all(batch.map((event) => apply(db, workspaceId, event)))
    waiting.push(...batch.filter((_, index) => !taken[index]))
  }
}

export function shuffle<T>(list: readonly T[], random: Iterable<number>): T[] {
  const source = random[Symbol.iterator]()
  const shuffled = [...list]
  for (let index = shuffled.length - 1; index > 0; index--) {
    const other = (source.next().value ?? 0) % (index + 1)
    ;[shuffled[index], shuffled[other]] = [shuffled[other] as T, shuffled[index] as T]
  }
  return shuffled
}

// Publishes `credits.low_balance` each time the balance falls below the threshold. The record of low-balance.ts
// is deleted in the same transaction.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import { publishEvent } from '../../webhook/publish-event.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { readBalance } from '../balance.ts'

/** Checks the recorded workspaces; returns the number of events. */
export async function announceLowBalances(db: Db, pass: SweepPass = {}): Promise<number> {
  const noted = await db
    .selectFrom('credit_low_balance')
    .select('workspace_id as id')
    .where(sql<boolean>`workspace_id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('at')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(noted, pass, ({ id }) => db.transaction().execute((tx) => announceIfLow(tx, id)))
}

async function announceIfLow(tx: Db, workspaceId: string): Promise<number> {
  await lockWorkspace(tx, workspaceId)
  const note = await tx
    .deleteFrom('credit_low_balance')
    .where('workspace_id', '=', workspaceId)
    .returning('workspace_id')
    .executeTakeFirst()
  if (note === undefined) return 0 // another replica took it
  const { available } = await readBalance(tx, workspaceId)
  const crossed = await tx
    .updateTable('workspace')
    .set({ low_balance_armed: false })
    .where('id', '=', workspaceId)
    .where('low_balance_armed', '=', true)
    .where('low_balance_below', '>', available)
    .returning('low_balance_below as threshold')
    .executeTakeFirst()
  if (crossed === undefined) return 0
  const message = `${available} credit(s) are left, fewer than ${crossed.threshold}.`
  const fields = { balance: available, message }
  await publishEvent(tx, { event: 'credits.low_balance', fields, key: randomUUID(), workspaceId, userId: null })
  return 1
}

import { readBalance } from '@matte/core/credit/balance'
import { forfeitCredits } from '@matte/core/credit/expire-credits'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { deleteEndpoints } from '@matte/core/webhook/endpoint/endpoint-changes'
import { sql } from 'kysely'
import { moveSessions } from './change-membership.ts'
import { endAllInvites } from './invite-queries.ts'
import { lockTeam, type TeamMember } from './lock-team.ts'

type DeleteTeam = {
  readonly owner: TeamMember
  readonly confirmCreditLoss: boolean
}

/**
 * Deletes a team: removes members, revokes keys, deletes endpoints and open invitations, writes off credits. Retention
 * deletes the tasks; ledger, invoices and audit log stay.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN; CONFLICT: open tasks, orders or refunds, an active subscription, or
 *   credits without `confirmCreditLoss`
 */
export async function deleteTeam(db: Db, { owner, confirmCreditLoss }: DeleteTeam): Promise<void> {
  const { teamId } = owner
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    await refuseWhileInUse(tx, teamId)
    const { total } = await readBalance(tx, teamId)
    if (total > 0 && !confirmCreditLoss) {
      throw new MatteError('CONFLICT', `The team has ${total} credits left, which would be lost. Confirm the loss.`, {
        details: { credits: total },
      })
    }
    await forfeitCredits(tx, teamId)
    await revokeKeys(tx, teamId)
    await deleteEndpoints(tx, teamId)
    await endAllInvites(tx, teamId)
    await moveSessions(tx, teamId, null)
    await tx.deleteFrom('membership').where('workspace_id', '=', teamId).execute()
    await tx.updateTable('provider_event').set({ raw: '' }).where('workspace_id', '=', teamId).execute()
    await tx.updateTable('workspace').set({ deleted_at: sql<Date>`now()` }).where('id', '=', teamId).execute()
  })
}

type InUse = {
  readonly openTasks: number
  readonly subscribed: boolean
  readonly openOrders: number
  readonly openRefunds: number
}

/** A canceled subscription does not block the deletion. */
async function refuseWhileInUse(tx: Db, teamId: string): Promise<void> {
  const { rows } = await sql<InUse>`
    select open_singles + open_children as "openTasks",
           exists (select from subscription s
                    where s.workspace_id = w.id and s.ended_at is null and not s.cancel_at_period_end) as subscribed,
           (select count(*) from payment_order o
             where o.workspace_id = w.id and o.status in ('pending', 'failed')) as "openOrders",
           (select count(*) from refund r where r.workspace_id = w.id and r.status = 'pending') as "openRefunds"
      from workspace w where id = ${teamId}`.execute(tx)
  const { openTasks, subscribed, openOrders, openRefunds } = rows[0] as InUse // the locked row
  if (openTasks > 0) throw inUse(`${openTasks} task(s) have not ended. Cancel them or wait.`, { openTasks })
  if (subscribed) throw inUse('The team has a subscription. Cancel it first.', { subscribed })
  if (openOrders > 0) throw inUse(`${openOrders} order(s) are open. Cancel them first.`, { openOrders })
  if (openRefunds > 0) throw inUse(`${openRefunds} refund(s) are pending. Wait for them.`, { openRefunds })
}

const inUse = (message: string, details: Partial<InUse>): MatteError => new MatteError('CONFLICT', message, { details })

const revokeKeys = (tx: Db, teamId: string) =>
  tx
    .updateTable('api_key')
    .set({ revoked_at: sql<Date>`now()` })
    .where('workspace_id', '=', teamId)
    .where('revoked_at', 'is', null)
    .execute()

import { sql } from 'kysely'
import { readBalance } from '../credit/balance.ts'
import { forfeitCredits } from '../credit/forfeit-credits.ts'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { deleteEndpoints } from '../webhook/endpoint/delete-endpoints.ts'
import { endAllInvites } from './end-invites.ts'
import { lockTeam, type TeamMember } from './lock-team.ts'
import { moveSessions } from './remove-member.ts'

type DeleteTeam = {
  readonly owner: TeamMember
  /** The owner gives up the credits that are left. */
  readonly confirmCreditLoss: boolean
}

/**
 * Ends a team, for good: nobody is a member of it any more, its keys are revoked, its endpoints and open invitations
 * deleted, its credits written off. Its tasks go by retention; ledger, invoices and log stay with the row (A99).
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN; CONFLICT while tasks are open, something may yet be paid or paid back,
 *   or credits are left that were not given up
 */
export async function deleteTeam(db: Db, { owner, confirmCreditLoss }: DeleteTeam): Promise<void> {
  const { teamId } = owner
  await db.transaction().execute(async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    await refuseWhileInUse(tx, teamId)
    const { total } = await readBalance(tx, teamId)
    if (total > 0 && !confirmCreditLoss) {
      throw new MatteError('CONFLICT', `The team has ${total} credits left, which would be lost: confirm that.`, {
        details: { credits: total },
      })
    }
    await forfeitCredits(tx, teamId)
    await revokeKeys(tx, teamId)
    await deleteEndpoints(tx, teamId)
    await endAllInvites(tx, teamId)
    await moveSessions(tx, teamId, null)
    await tx.deleteFrom('membership').where('workspace_id', '=', teamId).execute()
    // They name who paid.
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

/** A subscription that ends with its period asks for nothing more, and may be left to its end. */
async function refuseWhileInUse(tx: Db, teamId: string): Promise<void> {
  const { rows } = await sql<InUse>`
    select open_singles + open_children as "openTasks",
           exists (select from subscription s
                    where s.workspace_id = w.id and s.ended_at is null and not s.cancel_at_period_end) as subscribed,
           (select count(*) from payment_order o
             where o.workspace_id = w.id and o.status in ('pending', 'failed')) as "openOrders",
           (select count(*) from refund r where r.workspace_id = w.id and r.status = 'pending') as "openRefunds"
      from workspace w where id = ${teamId}`.execute(tx)
  const { openTasks, subscribed, openOrders, openRefunds } = rows[0] as InUse // the row that is locked
  if (openTasks > 0) throw inUse(`${openTasks} task(s) have not ended; cancel them or wait.`, { openTasks })
  if (subscribed) throw inUse('The team has a subscription; cancel it first.', { subscribed })
  if (openOrders > 0) throw inUse(`${openOrders} order(s) are open; cancel them first.`, { openOrders })
  if (openRefunds > 0) throw inUse(`${openRefunds} refund(s) are on their way; wait for them.`, { openRefunds })
}

const inUse = (message: string, details: Partial<InUse>): MatteError => new MatteError('CONFLICT', message, { details })

const revokeKeys = (tx: Db, teamId: string) =>
  tx
    .updateTable('api_key')
    .set({ revoked_at: sql<Date>`now()` })
    .where('workspace_id', '=', teamId)
    .where('revoked_at', 'is', null)
    .execute()

import { randomUUID } from 'node:crypto'
import { recordChange } from '../../audit/record-change.ts'
import type { Db } from '../../db/database.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import { findPersonalWorkspace } from '../personal/own-workspaces.ts'
import { endSessions } from '../session/session-queries.ts'
import { deleteMfaTokens } from '../two-factor/mfa-token.ts'

type Reset = { readonly userId: string; readonly reason: string }

/**
 * Switches the second factor of somebody off who has lost it, ends all sessions, and tells: the owner by mail, the log
 * of the personal workspace with the reason. How many sessions; undefined: no such account, or its codes are off.
 */
export function resetTwoFactor(db: Db, { userId, reason }: Reset): Promise<number | undefined> {
  return db.transaction().execute(async (tx) => {
    // In the order in which a login takes their locks.
    await deleteMfaTokens(tx, userId)
    const removed = await tx
      .deleteFrom('two_factor')
      .where('user_id', '=', userId)
      .where('enabled_at', 'is not', null)
      .returning('user_id')
      .executeTakeFirst()
    if (removed === undefined) return undefined
    const ended = await endSessions(tx, userId)
    const message = 'An operator of the service switched two-factor login off and signed you out everywhere.'
    await publishPersonalEvent(tx, userId, { event: 'security.mfa_disabled', key: randomUUID(), fields: { message } })
    const workspaceId = (await findPersonalWorkspace(tx, userId))?.id ?? null
    const by = { userId: null, ipAddress: null, requestId: null }
    await recordChange(tx, { ...by, workspaceId, action: 'user reset-two-factor', target: userId, reason })
    return ended
  })
}

import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { LockRecipients } from '@matte/core/webhook/endpoint/disable-failing-endpoints'
import { listEndpointsMadeBy } from '@matte/core/webhook/endpoint/endpoint-maker'
import type { Role } from '@matte/core/workspace/role'
import { queueMail } from '../mail/mail-queue.ts'
import type { MailData } from '../mail/templates.ts'

/** Mails notices of failing webhook endpoints to the owners and admins of the workspace. */
export const mailEndpointNotices =
  (masterKeys: MasterKeys): LockRecipients =>
  async (tx, workspaceId) => {
    const admins = await lockMembers(tx, workspaceId, ['owner', 'admin'])
    return async ({ kind, disabledAfterDays, ...endpoint }) => {
      const mail: MailData =
        kind === 'disabled'
          ? { template: 'endpoint-disabled', data: endpoint }
          : { template: 'endpoint-failing', data: { ...endpoint, disabledAfterDays } }
      for (const { id: userId, email: to } of admins) {
        await queueMail(tx, masterKeys, { ...mail, key: null, to, userId })
      }
    }
  }

/**
 * Locks and returns members in these roles with a verified address. Callers lock members before an endpoint, the order
 * of an erasure: it either waits and deletes these mails too, or ran first and the members get no mail.
 */
export const lockMembers = (tx: Db, workspaceId: string, roles: readonly Role[]) =>
  tx
    .selectFrom('membership as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.email', 'm.role'])
    .where('m.workspace_id', '=', workspaceId)
    .where('m.role', 'in', roles)
    .where('u.email_verified_at', 'is not', null)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .orderBy('u.id')
    .forShare('u')
    .execute()

type FormerMaker = {
  readonly team: { readonly id: string; readonly name: string }
  readonly userId: string
  readonly change: 'demoted' | 'removed' | 'left'
}

/** Endpoints of a former owner or admin stay active, because programs depend on them; the owners decide. */
export async function mailOwnersAboutEndpoints(tx: Db, masterKeys: MasterKeys, former: FormerMaker): Promise<void> {
  const { team, userId, change } = former
  const endpoints = await listEndpointsMadeBy(tx, team.id, userId)
  if (endpoints.length === 0) return
  const { email: memberEmail } = await tx
    .selectFrom('app_user')
    .select('email')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  const data = { teamName: team.name, memberEmail, change, endpoints }
  for (const { id, email: to } of await lockMembers(tx, team.id, ['owner'])) {
    await queueMail(tx, masterKeys, { template: 'member-endpoints', data, key: null, to, userId: id })
  }
}

// Webhook endpoints outlive the right of their maker: programs of the team depend on them. So the owners
// get a list when an owner or admin loses the role or leaves, and decide.
import type { Db } from '../db/database.ts'
import { queueMail } from '../mail/queue-mail.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import { listEndpointsMadeBy } from '../webhook/endpoint/endpoint-maker.ts'
import { lockStaff } from '../webhook/failing/lock-staff.ts'

type FormerMaker = {
  readonly team: { readonly id: string; readonly name: string }
  readonly userId: string
  readonly change: 'demoted' | 'removed' | 'left'
}

/** Queues the mails, in the transaction that ends the right and has locked the team. */
export async function tellOwnersOfEndpoints(tx: Db, masterKeys: MasterKeys, former: FormerMaker): Promise<void> {
  const { team, userId, change } = former
  const endpoints = await listEndpointsMadeBy(tx, team.id, userId)
  if (endpoints.length === 0) return
  const { email: memberEmail } = await tx
    .selectFrom('app_user')
    .select('email')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  const data = { teamName: team.name, memberEmail, change, endpoints }
  for (const { id, email: to } of await lockStaff(tx, team.id, ['owner'])) {
    await queueMail(tx, masterKeys, { template: 'member-endpoints', data, key: null, to, userId: id })
  }
}

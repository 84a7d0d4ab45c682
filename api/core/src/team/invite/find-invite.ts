import type { Db } from '../../db/database.ts'
import { isOpen } from './invite-queries.ts'
import { hashInviteToken } from './invite-token.ts'

/** Whether the link of an invitation can still be accepted. */
export async function isInviteOpen(db: Db, token: string): Promise<boolean> {
  const invite = await db
    .selectFrom('team_invite')
    .select('id')
    .where('token_hash', '=', hashInviteToken(token))
    .where(isOpen)
    .executeTakeFirst()
  return invite !== undefined
}

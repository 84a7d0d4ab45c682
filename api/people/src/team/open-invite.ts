import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

/** Whether a team has invited this address, which then may register if registration is by invitation. */
export async function hasOpenInvite(db: Db, email: string): Promise<boolean> {
  const invite = await db
    .selectFrom('team_invite')
    .select('id')
    .where('email_key', '=', foldAddress(email))
    .where('ended_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .limit(1)
    .executeTakeFirst()
  return invite !== undefined
}

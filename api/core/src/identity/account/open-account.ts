import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { welcomeFields } from '../../webhook/event-fields.ts'
import { grantFreeCredits } from '../free-credits/free-credits.ts'

type Opening = {
  readonly masterKeys: MasterKeys
  readonly userId: string
  /** The password that opens the account from now on. */
  readonly passwordHash: string
  /** Credits of the plan Free. */
  readonly freeCredits: number
}

/** Plan of a new personal workspace. */
const plan = 'free'

/**
 * Marks the address as verified and creates the personal workspace. Changes nothing when the account is verified,
 * disabled or erased, or when another account has its address (D85).
 */
export async function openAccount(tx: Db, { masterKeys, userId, passwordHash, freeCredits }: Opening): Promise<void> {
  const user = await markVerified(tx, userId, passwordHash)
  if (user === undefined) return
  const { id, email, name } = user
  const workspaceId = await insertPersonalWorkspace(tx, { userId: id, name: name || email })
  await grantFreeCredits(tx, masterKeys, { userId, email, workspaceId, credits: freeCredits })
  await publishPersonalEvent(tx, id, { event: 'welcome', key: id, fields: welcomeFields })
  await tx.deleteFrom('registration_invite').where('email', '=', foldAddress(email)).execute()
}

const markVerified = (tx: Db, userId: string, passwordHash: string) =>
  tx
    .updateTable('app_user')
    .set({ email_verified_at: sql<Date>`now()`, password_hash: passwordHash })
    .where('id', '=', userId)
    .where('email_key', 'is not', null)
    .where('email_verified_at', 'is', null)
    .where('disabled_at', 'is', null)
    .where('erased_at', 'is', null)
    .returning(['id', 'email', 'name'])
    .executeTakeFirst()

async function insertPersonalWorkspace(tx: Db, { userId, name }: { userId: string; name: string }): Promise<string> {
  const { id } = await tx
    .insertInto('workspace')
    .values({ name: name.slice(0, 200), plan, kind: 'personal', personal_of: userId })
    .returning('id')
    .executeTakeFirstOrThrow()
  await tx.insertInto('membership').values({ workspace_id: id, user_id: userId, role: 'owner' }).execute()
  return id
}

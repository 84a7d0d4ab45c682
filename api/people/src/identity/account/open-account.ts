import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { welcomeFields } from '@matte/core/webhook/event-fields'
import { sql } from 'kysely'
import { publishPersonalEvent } from '../../notification/publish-events.ts'
import { grantFreeCredits } from './free-credits.ts'

type Opening = {
  readonly masterKeys: MasterKeys
  readonly userId: string
  readonly passwordHash: string
  readonly freeCredits: number
}

const plan = 'free'

/** Verifies the address and creates the personal workspace. Skips accounts that are verified, disabled or keyless. */
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

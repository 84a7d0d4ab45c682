import { foldAddress } from '@matte/core/address'
import { setOperatorPlan } from '@matte/core/credit/operator-plan'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { welcomeFields } from '@matte/core/webhook/event-fields'
import type { Plans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { publishPersonalEvent } from '../../notification/publish-events.ts'
import { grantFreeCredits } from './free-credits.ts'

/** Plans of new accounts. */
export type NewAccounts = {
  readonly plans: Plans
  /** Plan of the first person; `free`: as everyone's. */
  readonly firstPlan: string
}

type Opening = NewAccounts & {
  readonly masterKeys: MasterKeys
  readonly userId: string
  readonly passwordHash: string
}

const plan = 'free'

/** Verifies the address and creates the personal workspace. Skips accounts that are verified, disabled or keyless. */
export async function openAccount(tx: Db, opening: Opening): Promise<void> {
  const { masterKeys, userId, passwordHash, plans, firstPlan } = opening
  const user = await markVerified(tx, userId, passwordHash)
  if (user === undefined) return
  const { id, email, name } = user
  const workspaceId = await insertPersonalWorkspace(tx, { userId: id, name: name || email })
  await grantFreeCredits(tx, masterKeys, { userId, email, workspaceId, credits: plans.free?.credits ?? 0 })
  // No event says that the plan changed, because this transaction creates the workspace.
  if (firstPlan !== plan && (await isFirst(tx, id))) await setOperatorPlan(tx, plans, { workspaceId, plan: firstPlan })
  await publishPersonalEvent(tx, id, { event: 'welcome', key: id, fields: welcomeFields })
  await tx.deleteFrom('registration_invite').where('email', '=', foldAddress(email)).execute()
}

/** No other person has ever verified an address here. Concurrent first persons wait for each other. */
async function isFirst(tx: Db, userId: string): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtext('matte.person.first'))`.execute(tx)
  const other = await tx
    .selectFrom('app_user')
    .select('id')
    .where('id', '<>', userId)
    .where(({ eb, or }) => or([eb('email_verified_at', 'is not', null), eb('erased_at', 'is not', null)]))
    .limit(1)
    .executeTakeFirst()
  return other === undefined
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

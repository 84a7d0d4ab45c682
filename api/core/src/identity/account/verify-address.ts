// The click in the mail: the address is its reader's. The account gets its personal workspace and is signed in, all in
// one transaction.
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import { grantPlanCredits } from '../../credit/plan-grant.ts'
import type { Db } from '../../db/database.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { welcomeFields } from '../../webhook/event-fields.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import { type StartedSession, startSession } from '../session/start-session.ts'
import { createMailToken, takeMailToken } from './mail-token.ts'

type VerifyDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly appUrl: string
  /** What the plan Free grants. */
  readonly freeCredits: number
}

/** The plan that a personal workspace begins with. */
const plan = 'free'

/** Undefined: the token does not work, or no longer. */
export function verifyAddress(
  { db, masterKeys, appUrl, freeCredits }: VerifyDeps,
  { token, client }: { readonly token: string; readonly client: SignInClient },
): Promise<StartedSession | undefined> {
  return db.transaction().execute(async (tx) => {
    const userId = await takeMailToken(tx, 'verify-email', token)
    const user = userId && (await markVerified(tx, userId))
    if (!user) return undefined
    const { id, email, name, password_hash } = user
    const workspaceId = await insertPersonalWorkspace(tx, { userId: id, name: name || email })
    await grantPlanCredits(tx, { workspaceId, plan, credits: freeCredits, period: null })
    await publishPersonalEvent(tx, id, { event: 'welcome', key: id, fields: welcomeFields })
    await tx.deleteFrom('registration_invite').where('email', '=', foldAddress(email)).execute()
    // Two registered the address with different passwords, so that neither counts (do-account-requests.ts).
    if (password_hash === null) await sendPasswordLink(tx, { masterKeys, appUrl }, { userId: id, email })
    return startSession(tx, { userId: id, method: 'verify_email', client })
  })
}

/** An account without a key shares its address with another account, which has it (D85). */
const markVerified = (tx: Db, userId: string) =>
  tx
    .updateTable('app_user')
    .set({ email_verified_at: sql<Date>`now()` })
    .where('id', '=', userId)
    .where('email_key', 'is not', null)
    .where('email_verified_at', 'is', null)
    .where('disabled_at', 'is', null)
    .where('erased_at', 'is', null)
    .returning(['id', 'email', 'name', 'password_hash'])
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

async function sendPasswordLink(
  tx: Db,
  { masterKeys, appUrl }: Pick<VerifyDeps, 'masterKeys' | 'appUrl'>,
  { userId, email }: { readonly userId: string; readonly email: string },
): Promise<void> {
  const token = await createMailToken(tx, { purpose: 'reset-password', userId })
  if (token === undefined) return
  const data = { url: `${appUrl}/reset-password?token=${token}` }
  await queueMail(tx, masterKeys, { template: 'reset-password', data, key: null, to: email, userId })
}

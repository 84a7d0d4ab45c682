// Signed-in people as rows and a signed token, like the result of registration and login.
import { randomBytes } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import type { Role } from '@matte/core/workspace/role'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { signAccessToken } from '@matte/people/identity/session/access-token'
import { readSigningKeys } from '@matte/people/identity/session/signing-keys'
import { sql } from 'kysely'
import type { TestApi } from '../api.ts'
import { type AppClient, createAppClient } from './app-client.ts'

export type Person = {
  readonly client: AppClient
  readonly userId: string
  readonly email: string
  /** Workspace of the token: the personal one by default. */
  readonly workspaceId: string
  readonly personalWorkspaceId: string
  readonly sessionId: string
  readonly accessToken: string
}

export type PersonOptions = {
  readonly plan?: string
  readonly credits?: number
  /** A membership in this workspace and a token for it, in place of the personal workspace. */
  readonly member?: { readonly workspaceId: string; readonly role: Role }
  readonly email?: string
}

/** Signing keys of tokens, and the API's origin. */
export type Issuer = {
  readonly url: string
  readonly config: Pick<TestApi['config'], 'masterKeys' | 'publicUrl'>
}

/**
 * Creates a person with a verified address and a personal workspace; by default `pro` with 100 credits. The workspace
 * is a month old, so its endpoints get no `welcome`.
 */
export async function givenPerson(db: Db, api: Issuer, options: PersonOptions = {}): Promise<Person> {
  const { plan = 'pro', credits = 100, member, email = `p-${randomBytes(6).toString('hex')}@example.com` } = options
  const { id: userId } = await db
    .insertInto('app_user')
    .values({ email, email_key: foldAddress(email), email_verified_at: new Date() })
    .returning('id')
    .executeTakeFirstOrThrow()
  const { id: personalWorkspaceId } = await insertWorkspace(db, { name: email, plan })
  const born = { personal_of: userId, created_at: sql<Date>`now() - interval '30 days'` }
  await db.updateTable('workspace').set(born).where('id', '=', personalWorkspaceId).execute()
  await join(db, { workspaceId: personalWorkspaceId, userId, role: 'owner' })
  if (credits > 0) await grantCredits(db, { workspaceId: personalWorkspaceId, kind: 'test', amount: credits })
  if (member !== undefined) await join(db, { ...member, userId })
  const { workspaceId, role } = member ?? { workspaceId: personalWorkspaceId, role: 'owner' as const }
  const sessionId = await givenSession(db, userId, workspaceId)
  const keys = await readSigningKeys(db, api.config.masterKeys)
  const accessToken = await signAccessToken(keys, api.config.publicUrl, { userId, sessionId, workspaceId, role })
  const client = createAppClient(api.url, accessToken)
  return { client, userId, email, workspaceId, personalWorkspaceId, sessionId, accessToken }
}

const join = (db: Db, { workspaceId, userId, role }: { workspaceId: string; userId: string; role: Role }) =>
  db.insertInto('membership').values({ workspace_id: workspaceId, user_id: userId, role }).execute()

async function givenSession(db: Db, userId: string, workspaceId: string): Promise<string> {
  const expires_at = new Date(Date.now() + 30 * 24 * 60 * 60 * 1_000)
  const { id } = await db
    .insertInto('session')
    .values({ user_id: userId, workspace_id: workspaceId, expires_at })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

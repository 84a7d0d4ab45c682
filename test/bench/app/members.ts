// Signed-in users with tasks to read, and accounts to sign in with.

import { foldAddress } from '@matte/core/address'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { signAccessToken } from '@matte/people/identity/session/access-token'
import { readSigningKeys } from '@matte/people/identity/session/signing-keys'
import { hash } from '@node-rs/argon2'
import { buildRequest } from '../accept/load.ts'
import type { Caller, World } from '../accept/world.ts'

export type Members = {
  /** Whole requests: reads of tasks with access tokens, and of the same tasks from the bare route. */
  readonly reads: readonly string[]
  readonly bareReads: readonly string[]
  /** Addresses of accounts with this password. */
  readonly logins: readonly string[]
  readonly password: string
}

const password = 'a long passphrase of the bench'
const readers = 20
const accounts = 200

export async function givenMembers(world: World): Promise<Members> {
  const { db, callers } = world
  const passwordHash = await hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  const bareReads: string[] = []
  const reads: string[] = []
  for (const caller of callers.slice(0, readers)) {
    const { token } = await givenMember(world, caller.workspaceId, passwordHash)
    for (const id of await givenTasks(world, caller)) {
      reads.push(memberRequest(`/tasks/images/${id}`, token))
      bareReads.push(buildRequest({ method: 'GET', path: `/tasks/${id}`, apiKey: caller.apiKey }))
    }
  }
  const logins: string[] = []
  for (let i = 0; i < accounts; i++) {
    const workspace = callers[i % callers.length]
    if (workspace === undefined) throw new Error('there are no workspaces')
    const { userId, email } = await givenMember(world, workspace.workspaceId, passwordHash)
    const personal = { name: email, plan: 'bench', personal_of: userId }
    const { id } = await db.insertInto('workspace').values(personal).returning('id').executeTakeFirstOrThrow()
    await db.insertInto('membership').values({ workspace_id: id, user_id: userId, role: 'owner' }).execute()
    logins.push(email)
  }
  return { reads, bareReads, logins, password }
}

let made = 0

async function givenMember({ db, env, api }: World, workspaceId: string, passwordHash: string) {
  const email = `bench-${made++}@example.com`
  const user = { email, email_key: foldAddress(email), email_verified_at: new Date(), password_hash: passwordHash }
  const { id: userId } = await db.insertInto('app_user').values(user).returning('id').executeTakeFirstOrThrow()
  await db.insertInto('membership').values({ workspace_id: workspaceId, user_id: userId, role: 'owner' }).execute()
  const expires_at = new Date(Date.now() + 24 * 60 * 60 * 1_000)
  const session = { user_id: userId, workspace_id: workspaceId, expires_at }
  const { id: sessionId } = await db.insertInto('session').values(session).returning('id').executeTakeFirstOrThrow()
  const keys = await readSigningKeys(db, parseMasterKeys(env.MASTER_KEYS ?? ''))
  const token = await signAccessToken(keys, api.url, { userId, sessionId, workspaceId, role: 'owner' })
  return { userId, email, token }
}

async function givenTasks({ port }: World, { apiKey, objectKey }: Caller): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/open/developer/tasks`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ imageUrl: objectKey }),
    })
    ids.push(((await answer.json()) as { data: { id: string } }).data.id)
  }
  return ids
}

const memberRequest = (path: string, token: string): string =>
  `GET /api/v1/app${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`

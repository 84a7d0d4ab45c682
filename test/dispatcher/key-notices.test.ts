// Mails about API keys that expire within a week.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { rollKey } from '@matte/core/workspace/key/make-key'
import { announceKeyExpiry } from '@matte/people/notification/key-notices'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { processDb } from '../support/roles.ts'
import { spawnDispatcher } from './dispatcher-process.ts'
import { masterKeys } from './in-process.ts'
import { mailEnv, startMailServer } from './mail-server.ts'

const database = useDatabase()
beforeEach(async () => {
  await sql`truncate api_key, mail cascade`.execute(database.db)
})

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const roles = ['owner', 'admin', 'member'] as const

/** A team with an owner, two admins and a member. */
async function given() {
  const { db } = database
  const { id: workspaceId } = await givenWorkspace(db)
  const person = async (role: (typeof roles)[number], name: string = role) => {
    const user = { email: `${name}@${workspaceId}.example`, email_verified_at: new Date() }
    const { id } = await db.insertInto('app_user').values(user).returning('id').executeTakeFirstOrThrow()
    await db.insertInto('membership').values({ workspace_id: workspaceId, user_id: id, role }).execute()
    return id
  }
  const [owner, admin] = [await person('owner'), await person('admin')]
  await person('admin', 'bystander')
  await person('member')
  /** A key that was made so many days ago and expires in so many. */
  const key = async (name: string, createdBy: string, { ageDays = 60, leftDays = 5 } = {}) => {
    const row = await insertApiKey(db, generateApiKey(), {
      ...{ workspaceId, name, scopes: ['tasks:read'], expiresAt: null, createdBy },
    })
    const id = row?.id ?? ''
    await sql`
      update api_key
         set created_at = now() - ${ageDays}::float8 * interval '1 day',
             expires_at = now() + ${leftDays}::float8 * interval '1 day'
       where id = ${id}`.execute(db)
    return id
  }
  return { workspaceId, owner, admin, key }
}

const announce = () => announceKeyExpiry(processDb('dispatcher', database.db), masterKeys)
const mails = async (): Promise<string[]> => {
  const rows = await database.db.selectFrom('mail').select(['template', 'to_address']).execute()
  return rows.map(({ template, to_address }) => `${template} ${to_address?.split('@')[0]}`).sort()
}

describe('an API key that expires within 7 days', () => {
  it('is announced once to its creator and the owners', async () => {
    const { admin, key } = await given()
    await key('shop', admin)
    expect([await announce(), await announce()]).toEqual([1, 0])
    expect(await mails()).toEqual(['keys-expiring admin', 'keys-expiring owner'])
  })

  it('is announced with others of its workspace in one mail, and once by concurrent dispatchers', async () => {
    const { owner, admin, key } = await given()
    for (const name of ['a', 'b', 'c']) await key(name, owner)
    await key('d', admin)
    const announced = await Promise.all([announce(), announce(), announce()])
    expect(announced.reduce((sum, each) => sum + each, 0)).toBe(1)
    expect(await mails()).toEqual(['keys-expiring admin', 'keys-expiring owner'])
  })

  it.each([
    ['expires later', { leftDays: 7.1 }],
    ['has expired', { leftDays: -0.1 }],
    ['never lives longer than the notice', { ageDays: 1, leftDays: 6 }],
  ])('is not announced if it %s', async (_what, times) => {
    const { admin, key } = await given()
    await key('shop', admin, times)
    expect(await announce()).toBe(0)
    expect(await mails()).toEqual([])
  })

  it('is not announced if it was revoked or rolled', async () => {
    const { workspaceId, admin, key } = await given()
    const [revoked, rolled] = [await key('revoked', admin), await key('rolled', admin)]
    await sql`update api_key set revoked_at = now() where id = ${revoked}`.execute(database.db)
    await rollKey(database.db, { workspaceId, id: rolled, overlapSeconds: 3_600 })
    expect(await announce()).toBe(0)
  })

  it('is announced by the dispatcher, in the language of each recipient', async () => {
    const { owner, admin, key } = await given()
    await sql`update app_user set locale = 'de' where id = ${owner}`.execute(database.db)
    await key('shop backend', admin)
    const server = await startMailServer({ startTls: false })
    ends.push(() => server.close())
    const dispatcher = await spawnDispatcher({ DATABASE_URL: database.url, ...mailEnv(server.url) })
    ends.push(async () => {
      dispatcher.kill('SIGTERM')
      await dispatcher.exited
    })
    const received = await server.until(2)
    const texts = Object.fromEntries(received.map(({ to, raw }) => [to.split('@')[0], raw]))
    expect(texts.admin).toContain('Subject: An API key is about to expire')
    expect(texts.admin).toContain('shop backend, ending in')
    expect(texts.owner).toContain('l=C3=A4uft bald ab')
  })
})

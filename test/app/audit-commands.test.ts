// Every command of matte-admin that changes something leaves an entry in the audit log, in the transaction of the
// change (D74).
import { randomUUID } from 'node:crypto'
import { commands } from '@matte/api/admin/arguments'
import { roleName } from '@matte/core/db/roles/role-statements'
import { processRoles } from '@matte/core/db/roles/table-rights'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { smallImage, useApi } from '../api/given.ts'
import { adminText } from '../support/admin.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson } from '../support/app/people.ts'
import { givePassword } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { givenKeyOf, givenTeam } from '../support/app/teams.ts'

const world = useApi()
const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`

/** Read only, or without the database. `database migrate` is recorded in kysely_migration. */
const unlogged = [
  ...['audit export', 'credits balance', 'database migrate', 'database roles', 'key list', 'referral reviews'],
  ...['setting get', 'setting list', 'store copy', 'user duplicates', 'user find', 'workspace list'],
]

const person = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
const apiKey = async () => (await world.caller()).apiKeyId
const workspace = async () => (await world.caller()).workspaceId

async function givenReview(): Promise<string> {
  const [referrer, invited] = [await person(), await person()]
  const { rows } = await sql<{ id: string }>`
    insert into referral (referrer_id, invited_id, status, credits, joined_at, suspicion)
    values (${referrer.userId}, ${invited.userId}, 'review', 50, now(), 'address') returning id`.execute(world.db)
  return rows[0]?.id ?? ''
}

/** Arguments after the setup that they need. */
const given: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  // The command works only while no workspace exists, so it runs first.
  'workspace first': async () => ['--name', 'w', '--plan', 'pro'],
  'workspace create': async () => ['--name', 'w', '--plan', 'pro'],
  'workspace plan': async () => ['--workspace', await workspace(), '--plan', 'business'],
  'workspace retention': async () => ['--workspace', await workspace(), '--seconds', '600'],
  'key create': async () => ['--workspace', await workspace()],
  'key roll': async () => ['--key', await apiKey()],
  'key revoke': async () => ['--key', await apiKey()],
  'key adopt': async () => {
    const team = await givenTeam(world)
    const from = await team.member('admin')
    await givenKeyOf(world.db, team.id, from.userId)
    return ['--workspace', team.id, '--from', from.userId, '--to', team.owner.userId]
  },
  'user disable': async () => ['--user', (await person()).userId],
  'user enable': async () => ['--user', (await person()).userId],
  'user reset-two-factor': async () => {
    const someone = await person()
    await givePassword(world.db, someone)
    await enableSecondFactor(world.db, someone.client)
    return ['--user', someone.userId]
  },
  'user invite': async () => ['--email', `p-${randomUUID()}@example.com`],
  'user take-address': async () => ['--user', (await person()).userId],
  'sessions end': async () => ['--user', (await person()).userId],
  'credits grant': async () => ['--workspace', await workspace(), '--credits', '5', '--source', randomUUID()],
  'credits adjust': async () => ['--workspace', await workspace(), '--amount=5', '--reference', randomUUID()],
  refund: async () => ['--order', (await buy(await person(), { packId: 'small' })).id],
  'subscription end': async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' })
    return ['--workspace', someone.workspaceId, '--yes']
  },
  'referral approve': async () => ['--referral', await givenReview()],
  'referral refuse': async () => ['--referral', await givenReview()],
  'setting set': async () => ['batchEnabled', 'on'],
  'console-link': async () => [],
  'console-sign-out': async () => [],
  'fault inference': async () => {
    const { client } = await world.caller()
    const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    return ['--task', id, '--attempts', '1']
  },
  sweep: async () => [],
  'secrets reseal': async () => [],
  'signing-key rotate': async () => {
    await world.db.updateTable('signing_key').set({ created_at: sql<Date>`created_at - interval '1 hour'` }).execute()
    return []
  },
  'database create-roles': async () => [],
}

function run(name: string, args: readonly string[], reason: string): Promise<string> {
  const roleUrls = processRoles.map((role) => {
    const own = { username: roleName(database(), role), password: 'of-the-test' }
    return [`DATABASE_URL_${role.toUpperCase()}`, Object.assign(new URL(world.databaseUrl), own).href]
  })
  return adminText([...name.split(' '), ...args, '--reason', reason], {
    ...{ DATABASE_URL: world.databaseUrl, MASTER_KEYS: masterKeys, MATTE_ENV: 'development' },
    ...{ PUBLIC_URL: world.api.url },
    ...(name === 'database create-roles' && Object.fromEntries(roleUrls)),
  })
}

const database = () => new URL(world.databaseUrl).pathname.slice(1)

const entriesOf = (reason: string) =>
  world.db.selectFrom('audit_entry').selectAll().where(sql`details ->> 'reason'`, '=', reason).execute()

beforeAll(async () => {
  vi.stubEnv('MATTE_API_KEY', generateApiKey().key)
  await sql`create function refuse_entry() returns trigger language plpgsql as $$
    begin raise exception 'refused by the test'; end $$`.execute(world.db)
  await sql`create trigger refuse_entry before insert on audit_entry for each row
    when (new.details ->> 'reason' like 'refused%') execute function refuse_entry()`.execute(world.db)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  for (const role of processRoles) {
    const name = sql.id(roleName(database(), role))
    await sql`drop owned by ${name}`.execute(world.db).catch(() => undefined)
    await sql`drop role ${name}`.execute(world.db).catch(() => undefined)
  }
})

it('every command that changes something has arguments here', () => {
  expect(Object.keys(given).toSorted()).toEqual(
    commands
      .filter(({ changes }) => changes)
      .map(nameOf)
      .toSorted(),
  )
  expect(unlogged.toSorted()).toEqual(
    commands
      .filter(({ changes }) => !changes)
      .map(nameOf)
      .toSorted(),
  )
})

const nameOf = ({ name }: { readonly name: string }) => name

describe.each(Object.keys(given))('matte-admin %s', (name) => {
  it('fails without its entry, and then leaves one', async () => {
    const args = await (given[name] as () => Promise<readonly string[]>)()
    const [refused, done] = [`refused ${randomUUID()}`, `done ${randomUUID()}`]
    await expect(run(name, args, refused)).rejects.toMatchObject({ code: 1 })
    await run(name, args, done)
    const entries = await entriesOf(done)
    expect(entries).toMatchObject([
      {
        ...{ actor: 'matte-admin', action: name, user_id: null, api_key_id: null, ip_address: null },
        ...{ user_agent: expect.stringMatching(/^matte-admin \(.+@.+\)$/), request_id: expect.any(String) },
      },
    ])
    const id = args[args.indexOf('--workspace') + 1]
    if (args.includes('--workspace')) expect(entries[0]?.workspace_id).toBe(id)
    expect(await entriesOf(refused)).toEqual([])
  })
})

it('a reason has at most 500 characters', async () => {
  await expect(run('console-link', [], 'x'.repeat(501))).rejects.toMatchObject({ code: 2 })
  await expect(run('key list', ['--workspace', randomUUID()], 'x')).rejects.toMatchObject({ code: 2 })
})

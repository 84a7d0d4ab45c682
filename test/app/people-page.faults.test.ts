// Runs the commands of docs/operations/people.md against an API and its database. A fake `kubectl` runs locally what it
// would run in a pod.
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readBalance } from '@matte/core/credit/balance'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { openPage, type RunSection } from '../cluster/page/page.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { referrals } from '../support/app/referrals.ts'
import { givenKeyOf } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const main = fileURLToPath(import.meta.resolve('@matte/api/admin/main'))
const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`

/** `kubectl exec POD -- matte-admin …`, and `psql -Atc SQL`; anything else fails. */
const kubectl = `#!${process.execPath}
import { spawnSync } from 'node:child_process'
import pg from ${JSON.stringify(import.meta.resolve('pg'))}
const [exec, pod, , program, ...args] = process.argv.slice(2)
if (exec === 'exec' && pod === 'deploy/matte-api' && program === 'matte-admin') {
  process.exit(spawnSync(process.execPath, [${JSON.stringify(main)}, ...args], { stdio: 'inherit' }).status ?? 1)
}
if (exec !== 'exec' || pod !== 'matte-postgresql-0' || args[2] !== '-Atc') throw new Error('unknown: ' + process.argv)
const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
const { rows } = await client.query({ text: args[3], rowMode: 'array' })
process.stdout.write(rows.map((row) => row.join('|') + '\\n').join(''))
await client.end()
`

describe('the page about people', () => {
  let ada: Person
  let run: RunSection
  let keyOfMember: string
  beforeAll(async () => {
    ada = await givenPerson(world.db, world.api, { email: 'ada@example.com', plan: 'free' })
    const dir = mkdtempSync(join(tmpdir(), 'matte-people-'))
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
    writeFileSync(join(dir, 'kubectl'), kubectl)
    chmodSync(join(dir, 'kubectl'), 0o755)
    const page = await givenWhatThePageNames()
    const env = { DATABASE_URL: world.databaseUrl, MASTER_KEYS: masterKeys, MATTE_ENV: 'development', ...page }
    run = openPage('people.md', { dir, env: { ...env, PATH: `${dir}:${process.env.PATH}` } })
  })

  /** An order, and a team with a member; the page's own commands find the rest. */
  async function givenWhatThePageNames() {
    const { id: order } = await buy(ada, { packId: 'small' })
    const { data } = await ada.client.call<{ id: string }>('POST', '/teams', { body: { name: 'Studio' } })
    const { userId: member } = await givenPerson(world.db, world.api, {
      member: { workspaceId: data.id, role: 'admin' },
    })
    keyOfMember = (await givenKeyOf(world.db, data.id, member)).id
    await givenKeyOf(world.db, ada.workspaceId, ada.userId)
    return { order, team: data.id, member }
  }

  const balance = () => readBalance(world.db, ada.workspaceId).then(({ available }) => available)
  const signIn = () => createAppClient(world.api.url, ada.accessToken).call('GET', '/credits/balance')

  it('finds the person that the other sections use', async () => {
    expect(await run('Find a user')).toContain(ada.userId)
  })

  it('gives an address to the other of two accounts', async () => {
    const { userId } = await givenPerson(world.db, world.api, { email: 'é@example.com' })
    const duplicate = { email: 'É@example.com', email_verified_at: new Date() }
    const { id } = await world.db.insertInto('app_user').values(duplicate).returning('id').executeTakeFirstOrThrow()
    const printed = await run('Two accounts with one address')
    expect(printed).toMatch(new RegExp(`userId=${id} .* loginsOpen=${userId}`))
    expect(printed).toMatch(new RegExp(`takenFrom +${userId}`))
  })

  it('refunds', async () => {
    const before = await balance()
    await run('Refund an order')
    expect(await balance()).toBe(before - 10)
  })

  it('sets a plan, and corrects credits', async () => {
    await run('Set a plan')
    // Callers are cached for some seconds, including their plan.
    await until('the plan is in force', async () => {
      const { data } = await ada.client.call<{ plan: string }>('GET', '/users/subscription')
      return data.plan === 'business'
    })
    const before = await balance()
    await run('Correct credits')
    expect(await balance()).toBe(before + 30)
    // As the page states: the same source and reference count once.
    await run('Correct credits')
    expect(await balance()).toBe(before + 30)
  })

  it('rolls and adopts keys', async () => {
    expect(await run('Keys of a workspace')).toMatch(/service_live_\w{38}/)
    expect(await run('Keep the keys of a member who leaves')).toMatch(new RegExp(`adopted +${keyOfMember}\n`))
  })

  it('rotates the keys of access tokens without signing users out', async () => {
    await world.db.updateTable('signing_key').set({ created_at: sql<Date>`created_at - interval '1 hour'` }).execute()
    await run('Rotate the keys of access tokens')
    await expect(signIn()).resolves.toMatchObject({ status: 200 })
  })

  it('decides about a referral', async () => {
    const { givenPair, succeedOnce, pass, balanceOf } = referrals(world)
    const { ann, bob } = await givenPair({ from: '192.0.2.1' }, { from: '192.0.2.2' })
    await succeedOnce(bob)
    await pass()
    expect(await balanceOf(ann)).toBe(0)
    await run('Review a referral')
    expect(await balanceOf(ann)).toBe(50)
  })

  it('enables registration, and shows queued mails', async () => {
    await run('Invite a user')
    await world.db
      .insertInto('mail')
      .values({ to_address: 'new@example.com', template: 'notification', data_sealed: 'sealed' })
      .execute()
    expect(await run('Mail')).toContain('pending|notification|1|')
  })

  it('signs a user out, disables and enables them', async () => {
    await run('Sign a user out')
    await run('Disable a user')
    const { disabled_at } = await world.db
      .selectFrom('app_user')
      .select('disabled_at')
      .where('id', '=', ada.userId)
      .executeTakeFirstOrThrow()
    expect(disabled_at).toBeNull() // the section ends with the undo command
    await until('the session is over on every replica', () =>
      signIn().then(
        () => false,
        (error: { code?: string }) => error.code === 'AUTH_INVALID_TOKEN',
      ),
    )
  })
  it('disables a second factor', async () => {
    const { userId: user_id } = ada
    const factor = { user_id, secret_sealed: 'sealed', enabled_at: new Date(), last_step: 0 }
    await world.db.insertInto('two_factor').values(factor).execute()
    await run('Reset a lost second factor')
    const left = await world.db.selectFrom('two_factor').select('user_id').where('user_id', '=', user_id).execute()
    expect(left).toEqual([])
  })
})

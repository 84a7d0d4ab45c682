// Account deletion: erased data, kept data, and preconditions.

import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { defaultPlans } from '@matte/core/workspace/plan'
import { eraseAccount } from '@matte/people/identity/account/erase-account'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { succeed, useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

async function person(options: PersonOptions = {}): Promise<Person> {
  const someone = await givenPerson(world.db, world.api, options)
  await givePassword(world.db, someone)
  return someone
}

const erase = ({ client }: Person, more: object = {}) =>
  client.call('DELETE', '/users/profile', { body: { password, ...more } })

async function team() {
  const workspace = await givenWorkspace(world.db, { plan: 'pro', credits: 10 })
  await world.db.updateTable('workspace').set({ kind: 'team' }).where('id', '=', workspace.id).execute()
  return workspace
}

const readWorkspace = (id: string) =>
  world.db.selectFrom('workspace').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Tables that contain one of the texts. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(world.db)
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ found: boolean }>`
      select exists (select from ${sql.table(name)} t
                      where exists (select from unnest(${[...texts]}::text[]) x
                                     where strpos(lower(t::text), lower(x)) > 0)) as found`.execute(world.db)
    if (rows[0]?.found) found.push(name)
  }
  return found
}

describe('deleting an account', () => {
  it('leaves no personal data anywhere', async () => {
    const someone = await person({ email: 'erase-me@example.com' })
    await someone.client.call('PATCH', '/users/profile', {
      body: { name: 'Vanishing Name', avatarUrl: 'https://example.com/vanishing.png', timeZone: 'Europe/Vienna' },
      headers: { 'user-agent': 'vanishing-browser' },
    })
    const factor = await enableSecondFactor(world.db, someone.client)
    const change = { newEmail: 'erase-too@example.com', password, code: await factor.nextCode() }
    await someone.client.call('POST', '/auth/email/change', { body: change })
    const open = createAppClient(world.api.url)
    const headers = { 'user-agent': 'vanishing-browser' }
    const body = { email: someone.email, password }
    await open.call('POST', '/auth/login', { body, headers })
    await expect(open.call('POST', '/auth/login', { body: { ...body, password: 'wrong' }, headers })).rejects.toThrow()
    const seen = ['erase-me@example.com', 'erase-too@example.com', 'vanishing', 'Vanishing Name']
    expect(await tablesWith(seen)).toEqual(expect.arrayContaining(['app_user', 'login_event', 'mail', 'email_change']))
    const answer = await erase(someone, { code: await factor.nextCode() })
    expect(answer.data).toEqual({ id: someone.userId, deleted: true })
    expect(await tablesWith(seen)).toEqual([])
    // Request counters keep addresses for a minute.
    expect(await tablesWith(['127.0.0.1', '::1'])).toEqual(['rate_window'])
  })

  it('ends the sessions within seconds, and frees the address', async () => {
    const someone = await person()
    const { workspaceId, userId, email, client } = someone
    await erase(someone)
    await until('the token is refused', async () => {
      const status = await client.call('GET', '/users/profile').then(
        () => 200,
        (error) => error.status,
      )
      return status === 401
    })
    const logIn = createAppClient(world.api.url).call('POST', '/auth/login', { body: { email, password } })
    await expect(logIn).rejects.toMatchObject({ status: 401 })
    await world.db.insertInto('app_user').values({ email }).execute()
    expect(await readWorkspace(workspaceId)).toMatchObject({ name: 'deleted', personal_of: null })
    const rows = world.db.selectFrom('membership').select('user_id').where('user_id', '=', userId)
    expect(await rows.execute()).toEqual([])
  })

  it('keeps the ledger, rejects the keys of the workspace, and leaves its tasks to the next sweep', async () => {
    const someone = await person({ credits: 0 })
    const caller = await world.caller({ plan: 'pro', credits: 5 })
    // The key's workspace is the personal one.
    await sql`update workspace set personal_of = null where personal_of = ${someone.userId}`.execute(world.db)
    await sql`update workspace set personal_of = ${someone.userId} where id = ${caller.workspaceId}`.execute(world.db)
    await world.db.deleteFrom('membership').where('user_id', '=', someone.userId).execute()
    const membership = { workspace_id: caller.workspaceId, user_id: someone.userId, role: 'owner' as const }
    await world.db.insertInto('membership').values(membership).execute()
    await caller.client.call('POST', '/webhooks', { body: { targetUrl: 'https://93.184.216.34/' } })
    const { plan } = await givenWorkspace(world.db, { plan: 'pro' })
    const kept = await givenTask(world.db, await givenWorkspace(world.db, { plan: 'pro', credits: 1 }))
    await succeed(world.db, kept.id)
    const done = await givenTask(world.db, { id: caller.workspaceId, plan })
    await succeed(world.db, done.id)
    const queued = await givenTask(world.db, { id: caller.workspaceId, plan })
    const ledger = () =>
      world.db.selectFrom('credit_entry').select('id').where('workspace_id', '=', caller.workspaceId).execute()
    const before = await ledger()
    await erase(someone)
    expect(await ledger()).toEqual(before)
    const endpoints = world.db.selectFrom('webhook_endpoint').selectAll().where('workspace_id', '=', caller.workspaceId)
    expect(await endpoints.execute()).toMatchObject([{ deleted_at: expect.any(Date), secret_sealed: '' }])
    const pending = world.db
      .selectFrom('delivery')
      .select('id')
      .where('workspace_id', '=', caller.workspaceId)
      .where('status', '=', 'pending')
    expect(await pending.execute()).toEqual([])
    await until('the key is refused', async () => {
      const code = await caller.client.listTasks().then(
        () => 'taken',
        (error) => error.code,
      )
      return code === 'API_KEY_INVALID'
    })
    // Ended tasks go at once, others when they have ended; those of other workspaces stay.
    await deleteOldTasks(world.db, defaultPlans)
    const left = async () =>
      (
        await world.db
          .selectFrom('task')
          .select('id')
          .where('id', 'in', [done.id, queued.id, kept.id])
          .orderBy('created_at')
          .execute()
      ).map(({ id }) => id)
    expect(await left()).toEqual([kept.id, queued.id])
    await succeed(world.db, queued.id)
    await deleteOldTasks(world.db, defaultPlans)
    expect(await left()).toEqual([kept.id])
  })

  it('requires the password, and the code if enabled; an error changes nothing', async () => {
    const someone = await person()
    await expect(erase(someone, { password: 'another password' })).rejects.toMatchObject({
      details: { issues: [{ path: '/body/password' }] },
    })
    const factor = await enableSecondFactor(world.db, someone.client)
    for (const code of [undefined, await factor.wrongCode()]) {
      await expect(erase(someone, { code })).rejects.toMatchObject({ details: { issues: [{ path: '/body/code' }] } })
    }
    expect((await someone.client.call('GET', '/users/profile')).data).toMatchObject({ email: someone.email })
    await erase(someone, { code: factor.recoveryCodes[0] })
  })

  it('waits for the end of a subscription that would be charged again', async () => {
    const { userId } = await person()
    const period = { start: new Date(), end: new Date() }
    const deps = { db: world.db, masterKeys: world.api.config.masterKeys }
    const eraseWith = (renews: boolean) =>
      eraseAccount(
        { ...deps, findSubscription: async () => ({ status: 'active', period, renews }) },
        { userId, code: undefined },
      )
    await expect(eraseWith(true)).rejects.toMatchObject({ code: 'CONFLICT' })
    await eraseWith(false)
  })

  it('waits for orders that may still be paid', async () => {
    const someone = await person()
    const [pack] = (await someone.client.call<{ items: { id: string }[] }>('GET', '/payments/credit-packs')).data.items
    const body = { kind: 'pack', packId: pack?.id }
    const { data: order } = await someone.client.call<{ id: string }>('POST', '/payments/orders', { body })
    await expect(erase(someone)).rejects.toMatchObject({ status: 409, code: 'CONFLICT', details: { openOrders: 1 } })
    await someone.client.call('POST', `/payments/orders/${order.id}/cancel`)
    await erase(someone)
  })

  it('happens once with concurrent requests', async () => {
    const someone = await person()
    const tries = await Promise.allSettled([1, 2, 3].map(() => erase(someone)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

describe('teams', () => {
  it('with other members block the deletion of their last owner', async () => {
    const { id } = await team()
    const owner = await person({ member: { workspaceId: id, role: 'owner' } })
    const other = await person({ member: { workspaceId: id, role: 'admin' } })
    await expect(erase(owner)).rejects.toMatchObject({ status: 409, code: 'CONFLICT', details: { teams: [id] } })
    expect((await owner.client.call('GET', '/users/profile')).data).toMatchObject({ email: owner.email })
    // An owner who cannot sign in does not count.
    const role = (userId: string) =>
      world.db.updateTable('membership').set({ role: 'owner' }).where('user_id', '=', userId).execute()
    await role(other.userId)
    const disable = (at: Date | null) =>
      world.db.updateTable('app_user').set({ disabled_at: at }).where('id', '=', other.userId).execute()
    await disable(new Date())
    await expect(erase(owner)).rejects.toMatchObject({ status: 409 })
    await disable(null)
    await erase(owner)
    expect(await readWorkspace(id)).toMatchObject({ name: 'test', deleted_at: null })
  })

  it('with no other member are closed; in others the user’s keys are revoked', async () => {
    const [alone, shared] = [await team(), await team()]
    const someone = await person({ member: { workspaceId: alone.id, role: 'owner' } })
    await person({ member: { workspaceId: shared.id, role: 'owner' } })
    const membership = { workspace_id: shared.id, user_id: someone.userId, role: 'admin' as const }
    await world.db.insertInto('membership').values(membership).execute()
    const key = (created_by: string | null, fill: number) => ({
      ...{ workspace_id: shared.id, name: 'key', prefix: 'service_live_', last_four: 'abcd', scopes: [] },
      ...{ hash: Buffer.alloc(32, fill), created_by },
    })
    await world.db
      .insertInto('api_key')
      .values([key(someone.userId, 1), key(null, 2)])
      .execute()
    await erase(someone)
    expect(await readWorkspace(alone.id)).toMatchObject({ deleted_at: expect.any(Date) })
    expect(await readWorkspace(shared.id)).toMatchObject({ deleted_at: null })
    const keys = world.db
      .selectFrom('api_key')
      .select('revoked_at')
      .where('workspace_id', '=', shared.id)
      .orderBy('hash')
    expect(await keys.execute()).toEqual([{ revoked_at: expect.any(Date) }, { revoked_at: null }])
  })

  it('keep one of two last owners who leave concurrently', async () => {
    const { id } = await team()
    const owners = [
      await person({ member: { workspaceId: id, role: 'owner' } }),
      await person({ member: { workspaceId: id, role: 'owner' } }),
    ]
    await person({ member: { workspaceId: id, role: 'member' } })
    const tries = await Promise.allSettled(owners.map((owner) => erase(owner)))
    expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const left = world.db
      .selectFrom('membership')
      .select('role')
      .where('workspace_id', '=', id)
      .where('role', '=', 'owner')
    expect(await left.execute()).toHaveLength(1)
  })
})

// Webhook endpoints of a team and their creators: responses name them, owners get a mail when a creator loses the
// right, and a former creator can create none.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { readMails } from '../support/app/mails.ts'
import type { Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenTeam, type Team } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi()

const targetUrl = 'https://93.184.216.34/secret-path'

type Maker = { readonly userId: string; readonly email: string; readonly name: string | null; readonly role: string }
type Endpoint = { readonly id: string; readonly createdBy?: Maker | null }

const create = async ({ client }: Pick<Person, 'client'>) =>
  (await client.call<Endpoint>('POST', '/developer/webhooks', { body: { targetUrl } })).data
const listBy = async ({ client }: Person) =>
  (await client.call<{ items: Endpoint[] }>('GET', '/developer/webhooks')).data.items
const makeKey = async ({ client }: Person) =>
  (await client.call<{ key: string }>('POST', '/developer/api-keys', { body: { name: 'shop' } })).data.key
const createByKey = async (key: string) =>
  (await world.api.client(key).call<Endpoint>('POST', '/webhooks', { body: { targetUrl } })).data
const setRole = (by: Person, { path }: Team, [{ userId }, role]: readonly [Person, string]) =>
  by.client.call('PATCH', `${path}/members/${userId}`, { body: { role } })
const demote = (by: Person, team: Team, member: Person) => setRole(by, team, [member, 'member'])
const remove = (by: Person, { path }: Team, { userId }: Person) => by.client.call('DELETE', `${path}/members/${userId}`)
const mailsTo = async ({ userId }: Person) => {
  const mails = await readMails(world.db, world.api.config.masterKeys, { userId })
  return mails.filter(({ template }) => template === 'member-endpoints').map(({ data }) => data as unknown)
}

describe('a webhook endpoint', () => {
  it('names the member who created it, by key as well, in the App API only', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const shown = (role: string | null) => ({ userId: admin.userId, email: admin.email, name: null, role })
    const made = await create(admin)
    const byKey = await createByKey(await makeKey(admin))
    expect([made.createdBy, byKey]).toEqual([shown('admin'), expect.not.objectContaining({ createdBy: null })])
    expect(byKey).not.toHaveProperty('createdBy')
    const makers = async () => (await listBy(team.owner)).map(({ id, createdBy }) => [id, createdBy])
    const both = (role: string | null) => [
      [byKey.id, shown(role)],
      [made.id, shown(role)],
    ]
    expect(await makers()).toEqual(both('admin'))
    await demote(team.owner, team, admin)
    expect(await makers()).toEqual(both('member'))
    await remove(team.owner, team, admin)
    expect(await makers()).toEqual(both(null))
    await givePassword(world.db, admin)
    await admin.client.call('DELETE', '/users/profile', { body: { password } })
    expect(await makers()).toEqual([
      [byKey.id, null],
      [made.id, null],
    ])
  })
})

describe('a creator of webhook endpoints without the role owner or admin any more', () => {
  it.each([
    ['demoted', (team: Team, admin: Person) => demote(team.owner, team, admin)],
    ['removed', (team: Team, admin: Person) => remove(team.owner, team, admin)],
    ['left', (team: Team, admin: Person) => remove(admin, team, admin)],
  ] as const)('is named to each owner by mail with the endpoints: %s', async (change, end) => {
    const team = await givenTeam(world)
    const [second, other, admin] = [await team.member('owner'), await team.member('admin'), await team.member('admin')]
    const endpoints = [await create(admin), await create(admin)].map(({ id }) => id)
    const [deleted] = [await create(admin), await create(other)]
    await team.owner.client.call('DELETE', `/developer/webhooks/${deleted?.id}`)
    await end(team, admin)
    const mail = {
      ...{ teamName: 'Shop', memberEmail: admin.email, change },
      endpoints: endpoints.map((id) => ({ id, targetHost: '93.184.216.34:443' })),
    }
    expect([await mailsTo(team.owner), await mailsTo(second)]).toEqual([[mail], [mail]])
    expect([await mailsTo(other), await mailsTo(admin)]).toEqual([[], []])
    expect(await listBy(team.owner)).toHaveLength(3)
  })

  it('causes no mail without endpoints, or while the role still allows them', async () => {
    const team = await givenTeam(world)
    const [admin, second] = [await team.member('admin'), await team.member('owner')]
    await create(second)
    await setRole(team.owner, team, [second, 'admin'])
    await remove(team.owner, team, admin)
    expect(await mailsTo(team.owner)).toEqual([])
  })
})

describe('an endpoint created while its creator loses the right', () => {
  /** Ends the right in a transaction, and sends the request while that is open. */
  async function beside(team: Team, end: ReturnType<typeof sql>, request: () => Promise<unknown>) {
    return world.db.transaction().execute(async (tx) => {
      await tx.selectFrom('workspace').select('id').where('id', '=', team.id).forNoKeyUpdate().execute()
      await end.execute(tx)
      const requested = request().catch((error: unknown) => error)
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('it waits', async () => (await waiting.execute(world.db)).rows.length > 0)
      return { requested }
    })
  }
  const endpointsOf = ({ id }: Team) =>
    world.db.selectFrom('webhook_endpoint').select('id').where('workspace_id', '=', id).execute()

  it('is rejected for a demoted or removed member', async () => {
    const team = await givenTeam(world)
    const admins = [await team.member('admin'), await team.member('admin')] as const
    const mine = (admin: Person) => sql`workspace_id = ${team.id} and user_id = ${admin.userId}`
    const [demotion, removal] = [
      sql`update membership set role = 'member' where ${mine(admins[0])}`,
      sql`delete from membership where ${mine(admins[1])}`,
    ]
    const demoted = await beside(team, demotion, () => create(admins[0]))
    const forbidden = { code: 'AUTH_FORBIDDEN', details: { required: ['owner', 'admin'], role: 'member' } }
    expect(await demoted.requested).toMatchObject({ status: 403, ...forbidden })
    const removed = await beside(team, removal, () => create(admins[1]))
    expect(await removed.requested).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(await endpointsOf(team)).toEqual([])
  })

  it('is rejected for a key that is revoked with the role', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const key = await makeKey(admin)
    await world.api.client(key).listTasks()
    const revocation = sql`update api_key set revoked_at = now() where created_by = ${admin.userId}`
    const { requested } = await beside(team, revocation, () => createByKey(key))
    expect(await requested).toMatchObject({ status: 401, code: 'API_KEY_INVALID' })
    expect(await endpointsOf(team)).toEqual([])
  })
})

// Leaving, disabling or a new address: access ends, and names are removed.
import { createHash, randomBytes } from 'node:crypto'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { readMails } from '../support/app/mails.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenKeyOf, givenTeam, readInviteMails } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

async function person(options: PersonOptions = {}): Promise<Person> {
  const someone = await givenPerson(world.db, world.api, options)
  await givePassword(world.db, someone)
  return someone
}

const erase = ({ client }: Person) => client.call('DELETE', '/users/profile', { body: { password } })
const statusOf = (call: Promise<{ status: number }>): Promise<number> =>
  call.then(
    ({ status }) => status,
    (error: { status: number }) => error.status,
  )

describe('a team that ends with the account of its only member', () => {
  it('makes its open invitations useless and forgets their addresses', async () => {
    const team = await givenTeam(world)
    await givePassword(world.db, team.owner)
    const invited = await person()
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email: invited.email, role: 'admin' } })
    const [mail] = await readInviteMails(world, invited.email)
    await erase(team.owner)
    const accept = invited.client.call('POST', '/teams/invites/accept', { body: { token: mail?.token } })
    await expect(accept).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    const left = async (table: 'membership' | 'team_invite') =>
      world.db.selectFrom(table).selectAll().where('workspace_id', '=', team.id).execute()
    expect([await left('membership'), await left('team_invite')]).toEqual([[], []])
  })

  it('keeps its invoices without a name, as does a team deleted earlier', async () => {
    const [closing, before, goingOn] = [await givenTeam(world), await givenTeam(world), await givenTeam(world)]
    const someone = closing.owner
    await givePassword(world.db, someone)
    await givenInvoice(closing.id)
    await givenInvoice(before.id)
    await givenInvoice(goingOn.id)
    const billing = JSON.stringify({ name: 'Billed Name', addressLines: [], taxId: null, email: 'bill@example.com' })
    await sql`
      update workspace set created_by = ${someone.userId}, deleted_at = now(), billing = ${billing}
       where id = ${before.id}`.execute(world.db)
    await erase(someone)
    const { rows } = await sql<{ id: string; name: string; billing: unknown }>`
      select w.id, i.buyer ->> 'name' as name, w.billing from invoice i join workspace w on w.id = i.workspace_id
       where w.id = any(${[closing.id, before.id, goingOn.id]}::uuid[])`.execute(world.db)
    const names = new Map(rows.map(({ id, name }) => [id, name]))
    expect([closing.id, before.id, goingOn.id].map((id) => names.get(id))).toEqual([
      'deleted',
      'deleted',
      'Billed Name',
    ])
    expect(rows.map((row) => row.billing)).toEqual([null, null, null])
  })
})

/** An invoice with a buyer's name. */
async function givenInvoice(workspace_id: string): Promise<void> {
  const { id: order_id } = await world.db
    .insertInto('payment_order')
    .values({
      ...{ workspace_id, kind: 'pack', description: 'Pack', pack_id: 's', credits: 100, amount: 900 },
      ...{ currency: 'USD', provider: 'sandbox', status: 'paid', paid_at: new Date() },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const buyer = JSON.stringify({ name: 'Billed Name', addressLines: [], taxId: null, email: 'bill@example.com' })
  const number = `t-${randomBytes(6).toString('hex')}`
  await world.db
    .insertInto('invoice')
    .values({
      ...{ workspace_id, order_id, number, seller: buyer, buyer, lines: '[]', subtotal: 900, tax: 0 },
      ...{ total: 900, currency: 'USD', paid_at: new Date(), issued_at: new Date() },
    })
    .execute()
}

describe('a changed address', () => {
  it('invalidates a reset link that was mailed to the previous one', async () => {
    const someone = await person()
    const newEmail = `new-${randomBytes(6).toString('hex')}@example.com`
    const open = createAppClient(world.api.url)
    const tokenFor = async (to: string, template: string) => {
      const mails = await readMails(world.db, world.api.config.masterKeys, { to })
      const url = mails.find((mail) => mail.template === template)?.data.url
      return url && URL.parse(url)?.searchParams.get('token')
    }
    await open.call('POST', '/auth/password/forgot', { body: { email: someone.email } })
    const sent = async () => (await tokenFor(someone.email, 'reset-password')) ?? undefined
    await until('the link is sent', async () => (await sent()) !== undefined)
    await someone.client.call('POST', '/auth/email/change', { body: { newEmail, password } })
    const body = { token: await tokenFor(newEmail, 'confirm-email') }
    await someone.client.call('POST', '/auth/email/confirm', { body })
    const reset = { token: await sent(), newPassword: 'another violet tractor' }
    await expect(open.call('POST', '/auth/password/reset', { body: reset })).rejects.toMatchObject({ status: 401 })
  })
})

describe('a link in a mail', () => {
  it.each([
    ['verify-email', '/auth/verify-email', { password }],
    ['reset-password', '/auth/password/reset', { newPassword: 'another violet tractor' }],
  ] as const)('that is followed while it is made void waits for that: %s', async (purpose, path, more) => {
    const email = `link-${randomBytes(6).toString('hex')}@example.com`
    const { id } = await world.db
      .insertInto('app_user')
      .values({ email, email_key: email })
      .returning('id')
      .executeTakeFirstOrThrow()
    await givePassword(world.db, { userId: id })
    const token = randomBytes(32).toString('base64url')
    const hash = createHash('sha256').update(token).digest()
    const values = { hash, purpose, user_id: id, expires_at: sql<Date>`now() + interval '5 minutes'` }
    await world.db.insertInto('mail_token').values(values).execute()
    const followed = await world.db.transaction().execute(async (tx) => {
      await tx.selectFrom('app_user').select('id').where('id', '=', id).forNoKeyUpdate().execute()
      const following = statusOf(createAppClient(world.api.url).call('POST', path, { body: { token, ...more } }))
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('it waits', async () => (await waiting.execute(world.db)).rows.length > 0)
      await tx.deleteFrom('mail_token').where('user_id', '=', id).execute()
      return { following }
    })
    expect(await followed.following).toBe(401)
  })
})

describe('during the record of a webhook attempt', () => {
  const leavePersonal = async () => {
    const someone = await person()
    return { workspaceId: someone.personalWorkspaceId, leave: () => erase(someone) }
  }
  const leaveTeam = async () => {
    const { id, owner, path } = await givenTeam(world)
    await givePassword(world.db, owner)
    const body = { password, confirmCreditLoss: true }
    return { workspaceId: id, leave: () => owner.client.call('DELETE', path, { body }) }
  }

  it.each([
    ['an account', leavePersonal],
    ['a team', leaveTeam],
  ])('the end of %s waits, and neither fails because of the other', async (_what, prepare) => {
    const { workspaceId, leave } = await prepare()
    const targetUrl = 'https://receiver.example/'
    const endpoint = { workspaceId, targetUrl, url: new URL(targetUrl), eventTypes: [], description: null }
    await createEndpoint(world.db, world.api.config.masterKeys, endpoint)
    const event = { workspaceId, event: 'welcome', body: '{}', callbackUrl: null } as const
    await createEventDeliveries(world.db, { ...event, of: { key: randomBytes(8).toString('hex') } })
    const left = await world.db.transaction().execute(async (tx) => {
      // Locks delivery, then endpoint, like the record of an attempt.
      await tx.selectFrom('delivery').select('id').where('workspace_id', '=', workspaceId).forUpdate().execute()
      const leaving = statusOf(leave())
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('it waits', async () => (await waiting.execute(world.db)).rows.length > 0)
      await tx.updateTable('webhook_endpoint').set({ failing_notices: 0 }).execute()
      return { leaving }
    })
    expect(await left.leaving).toBe(200)
    const rows = world.db.selectFrom('delivery').select('status').where('workspace_id', '=', workspaceId)
    expect(await rows.execute()).toEqual([{ status: 'canceled' }])
  })
})

describe('a disabled user', () => {
  it('has rejected keys, wherever created, until enabled again', async () => {
    const someone = await person()
    const team = await givenTeam(world)
    const member = { workspace_id: team.id, user_id: someone.userId, role: 'admin' as const }
    await world.db.insertInto('membership').values(member).execute()
    const own = await givenKeyOf(world.db, someone.personalWorkspaceId, someone.userId)
    const inTeam = await givenKeyOf(world.db, team.id, someone.userId)
    const byOperator = await givenKeyOf(world.db, someone.personalWorkspaceId, someone.userId)
    await world.db.updateTable('api_key').set({ created_by: null }).where('id', '=', byOperator.id).execute()
    const others = await givenKeyOf(world.db, team.id, team.owner.userId)
    const answers = () =>
      Promise.all(
        [own, inTeam, byOperator, others].map(({ key }) => statusOf(world.api.client(key).call('GET', '/tasks'))),
      )
    const disable = (disabled_at: Date | null) =>
      world.db.updateTable('app_user').set({ disabled_at }).where('id', '=', someone.userId).execute()
    expect(await answers()).toEqual([200, 200, 200, 200])
    await disable(new Date())
    await until('the keys are refused', async () => (await answers()).join() === '401,401,401,200', {
      timeoutMs: 5_000,
    })
    await disable(null)
    expect(await answers()).toEqual([200, 200, 200, 200])
  })
})

describe('the audit log of a team', () => {
  it('has no personal changes of its members; the personal log has them', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    await member.client.call('PATCH', '/users/profile', { body: { name: 'Mine' } })
    await member.client.call('POST', '/teams', { body: { name: 'Another' } })
    const entriesOf = async (client: Person['client'], id: string) => {
      const { data } = await client.call<{ items: { action: string }[] }>('GET', `/teams/${id}/audit-log`)
      return data.items.map(({ action }) => action)
    }
    expect(await entriesOf(team.owner.client, team.id)).toEqual([])
    expect(await entriesOf(member.client, member.personalWorkspaceId)).toEqual(['createTeam', 'updateProfile'])
  })
})

describe('a request to another’s workspace', () => {
  it.each(['known', 'unknown'])('counts against the limit of the person: %s', async (which) => {
    const someone = await person({ plan: 'free' })
    const id = which === 'known' ? (await givenTeam(world)).id : '00000000-0000-4000-8000-000000000000'
    const error = await someone.client.call('GET', `/teams/${id}`).catch((caught) => caught)
    expect(error).toMatchObject({ status: 404 })
    const next = await someone.client.call('GET', '/users/profile')
    const remaining = (headers: Headers) => Number(headers.get('x-ratelimit-remaining'))
    expect(remaining(error.headers)).toBe(remaining(next.headers) + 1)
  })
})

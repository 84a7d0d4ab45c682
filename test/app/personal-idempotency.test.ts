// Idempotency keys of personal operations belong to the person, and those of a workspace to the workspace (D42).
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenTeam } from '../support/app/teams.ts'

const world = useApi()
const key = 'one-key'
type Made = { readonly id: string; readonly name?: string }

/** Sends a POST under the key; returns whether the response is a replay. */
async function post({ client }: Pick<Person, 'client'>, path: string, body: object) {
  const { status, data, headers } = await client.call<Made>('POST', path, {
    ...{ body },
    headers: { 'idempotency-key': key },
  })
  return { status, data, isReplay: headers.get('idempotent-replayed') === 'true' }
}

/** The same person with a token for the personal workspace. */
async function elsewhere({ client, personalWorkspaceId }: Person): Promise<Pick<Person, 'client'>> {
  const { data } = await client.call<{ accessToken: string }>('POST', `/users/workspaces/${personalWorkspaceId}/switch`)
  return { client: createAppClient(world.api.url, data.accessToken) }
}

async function twoMembers(): Promise<readonly [Person, Person]> {
  const team = await givenTeam(world)
  return [team.owner, await team.member('admin')]
}

describe('an idempotency key of a person', () => {
  it('differs for each member of a workspace', async () => {
    const [one, two] = await twoMembers()
    const first = await post(one, '/teams', { name: 'Studio' })
    const second = await post(two, '/teams', { name: 'Studio' })
    expect([first, second]).toMatchObject(Array(2).fill({ status: 201, isReplay: false }))
    expect(second.data.id).not.toBe(first.data.id)
    for (const [person, { data }] of [
      [one, first],
      [two, second],
    ] as const) {
      expect(await post(person, '/teams', { name: 'Studio' })).toMatchObject({ isReplay: true, data: { id: data.id } })
    }
    const friend = { email: 'friend@example.com' }
    const invited = [await post(one, '/referral/invitations', friend), await post(two, '/referral/invitations', friend)]
    expect(invited).toMatchObject(Array(2).fill({ status: 201, isReplay: false }))
    // Another person's body causes no conflict.
    const [three, four] = await twoMembers()
    await post(three, '/teams', { name: 'Three' })
    expect(await post(four, '/teams', { name: 'Four' })).toMatchObject({ data: { name: 'Four' } })
  })

  it('is the same in each workspace of one person', async () => {
    const [person] = await twoMembers()
    const first = await post(person, '/teams', { name: 'Studio' })
    const personal = await elsewhere(person)
    expect(await post(personal, '/teams', { name: 'Studio' })).toMatchObject({ isReplay: true, data: first.data })
    await expect(post(personal, '/teams', { name: 'Another' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/headers/idempotency-key' }] },
    })
    const { items } = (await person.client.call<{ items: Made[] }>('GET', '/teams')).data
    expect(items.filter(({ name }) => name === 'Studio')).toHaveLength(1)
  })

  it('expires after 24 hours', async () => {
    const person = await givenPerson(world.db, world.api)
    const first = await post(person, '/teams', { name: 'Studio' })
    await sql`update personal_idempotency_record set created_at = now() - interval '24 hours'
               where user_id = ${person.userId}`.execute(world.db)
    const second = await post(person, '/teams', { name: 'Studio' })
    expect(second).toMatchObject({ status: 201, isReplay: false })
    expect(second.data.id).not.toBe(first.data.id)
  })

  it('creates one resource with concurrent requests', async () => {
    const person = await givenPerson(world.db, world.api)
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => post(person, '/teams', { name: 'Once' })))
    const ids = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.data.id] : []))
    expect(new Set(ids).size).toBe(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ status: 409, code: 'CONFLICT' })
    }
    const { items } = (await person.client.call<{ items: Made[] }>('GET', '/teams')).data
    expect(items).toHaveLength(1)
  })

  it('is erased with the person', async () => {
    const person = await givenPerson(world.db, world.api)
    await givePassword(world.db, person)
    await post(person, '/teams', { name: 'Studio' })
    const count = async () =>
      (await sql`select from personal_idempotency_record where user_id = ${person.userId}`.execute(world.db)).rows
        .length
    expect(await count()).toBe(1)
    await person.client.call('DELETE', '/users/profile', { body: { password } })
    expect(await count()).toBe(0)
  })
})

describe('an idempotency key of a workspace', () => {
  it('is shared by all members', async () => {
    const [owner, admin] = await twoMembers()
    const made = await post(owner, '/developer/api-keys', { name: 'build' })
    expect(made.isReplay).toBe(false)
    const again = await post(admin, '/developer/api-keys', { name: 'build' })
    expect(again).toMatchObject({ isReplay: true, data: { id: made.data.id } })
  })
})

// The role billing spends the owner's money, so only owners assign it.
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenTeam, readInviteMails, type Team } from '../support/app/teams.ts'

const world = useApi()
const forbidden = { status: 403, code: 'AUTH_FORBIDDEN', details: { required: ['owner'], role: 'admin' } }

const setRole = async (by: Person, { path }: Team, [{ userId }, role]: readonly [Person, string]) =>
  (await by.client.call<{ role: string }>('PATCH', `${path}/members/${userId}`, { body: { role } })).data.role
const invite = (by: Person, { path }: Team, { email }: Person) =>
  by.client.call('POST', `${path}/invites`, { body: { email, role: 'billing' } })
const accept = async (person: Person) => {
  const token = (await readInviteMails(world, person.email)).at(-1)?.token
  return person.client.call<{ role: string }>('POST', '/teams/invites/accept', { body: { token } })
}

it('an admin can assign the role billing neither to a member nor to themselves', async () => {
  const team = await givenTeam(world)
  const admin = await team.member('admin')
  const member = await team.member('member')
  await expect(setRole(admin, team, [admin, 'billing'])).rejects.toMatchObject(forbidden)
  await expect(setRole(admin, team, [member, 'billing'])).rejects.toMatchObject(forbidden)
  expect(await setRole(team.owner, team, [member, 'billing'])).toBe('billing')
  expect(await setRole(admin, team, [admin, 'member'])).toBe('member')
})

it('an admin cannot invite to the role billing', async () => {
  const team = await givenTeam(world)
  const person = await givenPerson(world.db, world.api)
  await expect(invite(await team.member('admin'), team, person)).rejects.toMatchObject(forbidden)
  expect(await readInviteMails(world, person.email)).toEqual([])
  await invite(team.owner, team, person)
  expect((await accept(person)).data).toMatchObject({ role: 'billing' })
})

it('an invitation to the role billing is valid while its sender is an owner', async () => {
  const team = await givenTeam(world)
  const heir = await team.member('admin')
  const person = await givenPerson(world.db, world.api)
  await invite(team.owner, team, person)
  await team.owner.client.call('POST', `${team.path}/transfer`, { body: { userId: heir.userId } })
  await expect(accept(person)).rejects.toMatchObject({
    ...{ status: 409, code: 'CONFLICT', details: { status: 'revoked' } },
  })
})

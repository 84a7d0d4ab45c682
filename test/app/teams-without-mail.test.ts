// In production without a mail server nobody would get an invitation, so none is made (D73).
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenTeam } from '../support/app/teams.ts'

const world = useApi({ MATTE_ENV: 'production' })

it('invitations are switched off', async () => {
  const team = await givenTeam(world)
  const body = { email: 'somebody@example.com', role: 'member' }
  await expect(team.owner.client.call('POST', `${team.path}/invites`, { body })).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  })
  expect((await team.owner.client.call('GET', team.path)).status).toBe(200)
})

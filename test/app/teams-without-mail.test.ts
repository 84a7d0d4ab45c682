// Without a mail server in production, invitations could not be delivered, so they are disabled (D73).
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenTeam } from '../support/app/teams.ts'

const world = useApi({ MATTE_ENV: 'production' })

it('invitations are disabled', async () => {
  const team = await givenTeam(world)
  const body = { email: 'somebody@example.com', role: 'member' }
  await expect(team.owner.client.call('POST', `${team.path}/invites`, { body })).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  })
  expect((await team.owner.client.call('GET', team.path)).status).toBe(200)
})

// Registration by invitation: the same response for everyone, and mails to invited addresses only.
import { inviteToRegister } from '@matte/people/identity/account/operator-actions'
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { mailsTo, tokensTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'

const world = useApi({ AUTH_REGISTRATION: 'invite' })

it('an invited address registers, once; others get the same response and no mail', async () => {
  const [invited, stranger] = [newEmail(), newEmail()]
  await inviteToRegister(world.db, invited.toUpperCase())
  const open = createAppClient(world.api.url)
  const password = newPassword()
  for (const email of [stranger, invited]) {
    const { data } = await open.call('POST', '/auth/register', { body: { email, password } })
    expect(data).toEqual({ status: 'verification_sent' })
  }
  const [token] = await tokensTo(world, invited, { template: 'verify-email' })
  await open.call('POST', '/auth/verify-email', { body: { token, password } })
  await untilRequestsDone(world.db)
  expect(await mailsTo(world.db, world.api, stranger)).toEqual([])
  const { count } = await world.db
    .selectFrom('app_user')
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  expect(count).toBe(1)
  expect(await world.db.selectFrom('registration_invite').selectAll().execute()).toEqual([])
})

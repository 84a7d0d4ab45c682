// Commands of operators about accounts.

import { notifyEvents } from '@matte/people/notification/make-notifications'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { admin as runAdmin } from '../support/admin.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenAccount, newEmail, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { mailsTo } from '../support/app/sign-in/inbox.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }

const admin = (...args: string[]) => runAdmin(args, { DATABASE_URL: world.databaseUrl })
const said = (...args: string[]) =>
  admin(...args).catch(({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }))

const logIn = ({ email, password }: { email: string; password: string }) =>
  createAppClient(world.api.url).call<SignedIn>('POST', '/auth/login', { body: { email, password } })
const isRefused = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    ({ status }: { status: number }) => status === 401,
  )

describe('matte-admin user', () => {
  it('finds, disables and enables an account', async () => {
    const account = await givenAccount(world)
    const { userId } = account
    expect(await admin('user', 'find', '--email', account.email.toUpperCase())).toMatchObject({
      ...{ userId, email: account.email, disabledAt: null, sessions: 1 },
      verifiedAt: expect.any(String),
    })
    expect(await said('user', 'find', '--email', newEmail())).toMatchObject({ code: 1 })

    await account.client.call('GET', '/credits/balance')
    await admin('user', 'disable', '--user', userId)
    await expect(logIn(account)).rejects.toMatchObject(refused)
    await until('tokens are refused', () => isRefused(account.client.call('GET', '/credits/balance')), {
      timeoutMs: 5_000,
    })
    await admin('user', 'enable', '--user', userId)
    await expect(logIn(account)).resolves.toMatchObject({ status: 200 })
    const { refreshToken } = account.tokens
    await expect(
      createAppClient(world.api.url).call('POST', '/auth/refresh', { body: { refreshToken } }),
    ).rejects.toMatchObject(refused)
  })

  it('disables the second factor for a user who reports its loss', async () => {
    const account = await givenAccount(world)
    const { userId, email } = account
    const reset = ['user', 'reset-two-factor', '--user', userId]
    expect(await said(...reset, '--reason', 'none')).toMatchObject({ code: 1 })
    await enableSecondFactor(world.db, account.client, account.password)
    expect(await said(...reset)).toMatchObject({ code: 2 })
    expect((await logIn(account)).data).toMatchObject({ mfaRequired: true })
    expect(await admin(...reset, '--reason', 'Showed a passport')).toEqual({
      userId,
      twoFactor: false,
      endedSessions: 1,
    })
    await until('tokens are refused', () => isRefused(account.client.call('GET', '/credits/balance')), {
      timeoutMs: 5_000,
    })
    const { data } = await logIn(account)
    const client = createAppClient(world.api.url, data.accessToken)
    const { id } = await world.db
      .selectFrom('workspace')
      .select('id')
      .where('personal_of', '=', userId)
      .executeTakeFirstOrThrow()
    const log = await client.call<{ items: object[] }>('GET', `/teams/${id}/audit-log`)
    expect(log.data.items[0]).toMatchObject({
      ...{ action: 'user reset-two-factor', target: userId, reason: 'Showed a passport', actorId: null },
    })
    await notifyEvents({ db: world.db, masterKeys: world.api.config.masterKeys, mailEnabled: true }, {})
    const mails = await mailsTo(world.db, world.api, email)
    expect(mails.at(-1)).toMatchObject({
      template: 'notification',
      data: { event: 'security.mfa_disabled', body: expect.stringContaining('An operator switched off') },
    })
    expect(await said(...reset, '--reason', 'again')).toMatchObject({ code: 1 })
  })

  it('ends sessions', async () => {
    const account = await givenAccount(world)
    await logIn(account)
    expect(await admin('sessions', 'end', '--user', account.userId)).toMatchObject({ endedSessions: 2 })
    await until('tokens are refused', () => isRefused(account.client.call('GET', '/credits/balance')), {
      timeoutMs: 5_000,
    })
  })
})

// Logins with a second factor (D16): each code once, and wrong ones counted by account.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { readMails } from '../support/app/mails.ts'
import { password } from '../support/app/sign-in/given-password.ts'
import { databaseTime, type SecondFactor } from '../support/app/sign-in/second-factor.ts'
import { twoFactorWorld, wrongCode } from '../support/app/sign-in/two-factor-world.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address
const { open, protectedPerson, logIn, logInTimes, verify } = twoFactorWorld(world)

const stopped = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'codes' } }
const notValid = { status: 401, code: 'AUTH_INVALID_TOKEN' }

describe('a login', () => {
  it('requires a code after the password, and returns no token before it', async () => {
    const { email, factor, workspaceId, userId } = await protectedPerson()
    const asked = await logIn(email)
    expect(asked).toEqual({ mfaRequired: true, mfaToken: expect.any(String) })
    const { accessToken, refreshToken } = (await verify(asked.mfaToken, await factor.nextCode())).data
    const client = createAppClient(world.api.url, accessToken)
    expect((await client.call<{ id: string }>('GET', '/users/profile')).data.id).toBe(userId)
    expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ available: 100 })
    await open().call('POST', '/auth/refresh', { body: { refreshToken } })
    const history = (await client.call<{ items: object[] }>('GET', '/users/login-history')).data.items
    expect(history).toMatchObject([{ success: true, method: 'totp' }])
    expect(history).toHaveLength(1)
    expect(workspaceId).toBeTypeOf('string')
  })

  it('without its code is in the history, because the password was right', async () => {
    const { email, client } = await protectedPerson()
    await logIn(email)
    const { items } = (await client.call<{ items: object[] }>('GET', '/users/login-history')).data
    expect(items).toMatchObject([{ success: false, method: 'password', failureReason: 'code_missing' }])
  })

  it('accepts a token once', async () => {
    const { email, factor } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    await verify(mfaToken, await factor.nextCode())
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it('accepts a code once, also for another login', async () => {
    const { email, factor } = await protectedPerson()
    const code = await factor.nextCode()
    const [one, two] = [await logIn(email), await logIn(email)]
    await verify(one.mfaToken, code)
    await expect(verify(two.mfaToken, code)).rejects.toMatchObject(wrongCode)
  })

  it('succeeds once with concurrent logins and one code', async () => {
    const { email, factor, userId } = await protectedPerson()
    const logins = await logInTimes(email, 4)
    const code = await factor.nextCode()
    const tries = await Promise.allSettled(logins.map(({ mfaToken }) => verify(mfaToken, code)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const sessions = await world.db.selectFrom('session').select('id').where('user_id', '=', userId).execute()
    expect(sessions).toHaveLength(2) // the earlier session, and this one
  })

  it('succeeds once with concurrent uses of one token and code', async () => {
    const { email, factor } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    const code = await factor.nextCode()
    const tries = await Promise.allSettled([1, 2, 3].map(() => verify(mfaToken, code)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('accepts a recovery code once, in any spelling', async () => {
    const { email, factor } = await protectedPerson()
    const [code = ''] = factor.recoveryCodes
    await verify((await logIn(email)).mfaToken, code.toLowerCase().replaceAll('-', ' '))
    await expect(verify((await logIn(email)).mfaToken, code)).rejects.toMatchObject(wrongCode)
    await verify((await logIn(email)).mfaToken, factor.recoveryCodes[1] ?? '')
  })

  it('succeeds once with concurrent uses of one recovery code', async () => {
    const { email, factor } = await protectedPerson()
    const logins = await logInTimes(email, 3)
    const tries = await Promise.allSettled(
      logins.map(({ mfaToken }) => verify(mfaToken, factor.recoveryCodes[0] ?? '')),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('expires its token after five minutes', async () => {
    const { email, factor, userId } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    const earlier = (minutes: number) =>
      sql`update mfa_token set expires_at = expires_at - ${minutes} * interval '1 minute'
           where user_id = ${userId}`.execute(world.db)
    await earlier(5)
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
    // The next login deletes expired ones.
    await logIn(email)
    const left = await world.db.selectFrom('mfa_token').select('user_id').where('user_id', '=', userId).execute()
    expect(left).toHaveLength(1)
  })

  it('invalidates the token when all sessions end, and when codes are disabled', async () => {
    const { email, factor, client } = await protectedPerson()
    const one = await logIn(email)
    await client.call('POST', '/auth/2fa/disable', { body: { password, code: await factor.nextCode() } })
    await expect(verify(one.mfaToken, '123456')).rejects.toMatchObject(notValid)
    const other = await protectedPerson()
    const two = await logIn(other.email)
    await other.client.call('POST', '/auth/logout-all')
    await expect(verify(two.mfaToken, await other.factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it('fails for a user disabled after the password', async () => {
    const { email, factor, userId } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    await world.db.updateTable('app_user').set({ disabled_at: new Date() }).where('id', '=', userId).execute()
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it.each(['', 'x', 'a'.repeat(43)])('rejects the token %j', async (mfaToken) => {
    const status = mfaToken === '' ? 400 : 401
    await expect(verify(mfaToken, '123456')).rejects.toMatchObject({ status })
  })
})

describe('wrong codes', () => {
  const tryFive = async (factor: SecondFactor, email: string, code?: string) => {
    const { mfaToken } = await logIn(email)
    for (let tries = 0; tries < 5; tries++) {
      await expect(verify(mfaToken, code ?? (await factor.wrongCode()))).rejects.toMatchObject(wrongCode)
    }
    return mfaToken
  }
  const earlier = (userId: string, minutes: number) =>
    sql`update two_factor
           set totp_failures = array(select at - ${minutes} * interval '1 minute' from unnest(totp_failures) at),
               recovery_failures = array(select at - ${minutes} * interval '1 minute' from unnest(recovery_failures) at)
         where user_id = ${userId}`.execute(world.db)

  it('end the token after five, and block codes of the account for a quarter of an hour', async () => {
    const { email, factor, userId, client } = await protectedPerson()
    const token = await tryFive(factor, email)
    await expect(verify(token, await factor.nextCode())).rejects.toMatchObject(notValid)
    // The count is per account, so it applies to another login and to signed-in users.
    const right = await factor.nextCode()
    await expect(verify((await logIn(email)).mfaToken, right)).rejects.toMatchObject(stopped)
    const body = { password, code: right }
    await expect(client.call('POST', '/auth/2fa/disable', { body })).rejects.toMatchObject(stopped)
    // A recovery code still works.
    await verify((await logIn(email)).mfaToken, factor.recoveryCodes[0] ?? '')
    await earlier(userId, 14)
    await expect(verify((await logIn(email)).mfaToken, await factor.nextCode())).rejects.toMatchObject(stopped)
    await earlier(userId, 1)
    await verify((await logIn(email)).mfaToken, await factor.nextCode())
  })

  it('count across tokens: four of one and one of another', async () => {
    const { email, factor } = await protectedPerson()
    const first = await logIn(email)
    for (let tries = 0; tries < 4; tries++) {
      await expect(verify(first.mfaToken, await factor.wrongCode())).rejects.toMatchObject(wrongCode)
    }
    await expect(verify((await logIn(email)).mfaToken, await factor.wrongCode())).rejects.toMatchObject(wrongCode)
    await expect(verify((await logIn(email)).mfaToken, await factor.nextCode())).rejects.toMatchObject(stopped)
  })

  it('are counted one by one when concurrent: no more than five are compared', async () => {
    const { email, factor } = await protectedPerson()
    const logins = await logInTimes(email, 10)
    const wrong = await factor.wrongCode()
    const answers = await Promise.all(
      logins.map(({ mfaToken }) => verify(mfaToken, wrong).catch((error: { code: string }) => error.code)),
    )
    expect(answers.filter((code) => code === 'INVALID_PARAMS')).toHaveLength(5)
    expect(answers.filter((code) => code === 'RATE_LIMIT_EXCEEDED')).toHaveLength(5)
  })

  it('five recovery codes an hour, which do not block TOTP codes', async () => {
    const { email, factor, userId } = await protectedPerson()
    await tryFive(factor, email, '0000-0000-0000-0000-0000-0000')
    const [code = ''] = factor.recoveryCodes
    await expect(verify((await logIn(email)).mfaToken, code)).rejects.toMatchObject(stopped)
    await verify((await logIn(email)).mfaToken, await factor.nextCode())
    await earlier(userId, 59)
    await expect(verify((await logIn(email)).mfaToken, code)).rejects.toMatchObject(stopped)
    await earlier(userId, 1)
    await verify((await logIn(email)).mfaToken, code)
  })

  it('report when the next one is accepted', async () => {
    const { email, factor } = await protectedPerson()
    await tryFive(factor, email)
    const refusal = await verify((await logIn(email)).mfaToken, await factor.nextCode()).catch((error) => error)
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(800)
    expect(Number(refusal.headers.get('retry-after'))).toBeLessThanOrEqual(900)
    expect(Date.parse(refusal.details.resetsAt)).toBeGreaterThan(await databaseTime(world.db))
  })

  it('are in the login history', async () => {
    const { email, factor, client } = await protectedPerson()
    await tryFive(factor, email)
    await expect(verify((await logIn(email)).mfaToken, '123456')).rejects.toMatchObject(stopped)
    const { items } = (await client.call<{ items: { failureReason: string }[] }>('GET', '/users/login-history')).data
    const reasons = items.map(({ failureReason }) => failureReason)
    const wrong = Array.from({ length: 5 }, () => 'wrong_code')
    // Both logins had the right password and no code.
    expect(reasons).toEqual(['too_many_codes', 'code_missing', ...wrong, 'code_missing'])
    expect(items[0]).toMatchObject({ success: false, method: 'totp' })
  })
})

describe('many wrong codes', () => {
  it('cause a mail to the owner after ten in a day, once', async () => {
    const { email, factor, userId } = await protectedPerson()
    const { masterKeys } = world.api.config
    const warnings = async () =>
      (await readMails(world.db, masterKeys, { userId })).filter(({ template }) => template === 'wrong-codes')
    /** Moves the block back by a quarter of an hour, so codes are compared again. */
    const letPass = () =>
      sql`update two_factor set totp_failures = '{}', recovery_failures = '{}' where user_id = ${userId}`.execute(
        world.db,
      )
    const failTimes = async (count: number) => {
      for (let times = 0; times < count; times += 1) {
        const { mfaToken } = await logIn(email)
        await expect(verify(mfaToken, await factor.wrongCode())).rejects.toMatchObject(wrongCode)
        await letPass()
      }
    }
    await failTimes(9)
    expect(await warnings()).toEqual([])
    await failTimes(1)
    expect(await warnings()).toEqual([{ template: 'wrong-codes', to: email, data: { codes: 10 } }])
    await failTimes(3)
    expect(await warnings()).toHaveLength(1)
    await sql`
      update two_factor
         set told_at = told_at - interval '1 day',
             wrong_codes = array(select time - interval '1 day' from unnest(wrong_codes) as time)
       where user_id = ${userId}`.execute(world.db)
    await failTimes(9)
    expect(await warnings()).toHaveLength(1)
    await failTimes(1)
    expect(await warnings()).toHaveLength(2)
  })
})

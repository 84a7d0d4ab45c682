// The second factor of a login (D16): set up, used once, switched off, and what a login does with it.
import { unseal } from '@matte/core/runtime/seal'
import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { type AppClient, createAppClient } from '../support/app/app-client.ts'
import { givenPerson } from '../support/app/people.ts'
import {
  codeOf,
  databaseTime,
  enableSecondFactor,
  givePassword,
  password,
  type SecondFactor,
} from '../support/app/second-factor.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '100000' }) // all from one address

async function person() {
  const someone = await givenPerson(world.db, world.api)
  await givePassword(world.db, someone)
  return someone
}

async function protectedPerson() {
  const someone = await person()
  return { ...someone, factor: await enableSecondFactor(world.db, someone.client) }
}

const open = (): AppClient => createAppClient(world.api.url)
type Setup = { readonly secret: string; readonly otpauthUrl: string; readonly qrCodeSvg: string }
type Tokens = { readonly accessToken: string; readonly refreshToken: string }
type Login = Tokens & { readonly mfaRequired?: true; readonly mfaToken: string }

const logIn = async (email: string) =>
  (await open().call<Login>('POST', '/auth/login', { body: { email, password } })).data
const verify = (mfaToken: string, code: string) =>
  open().call<Tokens>('POST', '/auth/2fa/verify', { body: { mfaToken, code } })
const isEnabled = async (client: AppClient) =>
  (await client.call<{ mfaEnabled: boolean }>('GET', '/users/profile')).data.mfaEnabled

const wrongCode = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/code' }] } }
const stopped = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'codes' } }
const notValid = { status: 401, code: 'AUTH_INVALID_TOKEN' }

const events = async (workspaceId: string) =>
  (await world.db.selectFrom('notification_due').select('event').where('workspace_id', '=', workspaceId).execute()).map(
    ({ event }) => event,
  )

describe('setting up', () => {
  it('shows a seed, its URL and a picture, and changes nothing before a code was seen', async () => {
    const { client, email, userId } = await person()
    const first = (await client.call<Setup>('POST', '/auth/2fa/setup')).data
    expect(first.secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(first.otpauthUrl).toContain(`otpauth://totp/Matte:${encodeURIComponent(email)}?`)
    expect(first.qrCodeSvg).toMatch(/^<svg .*<\/svg>$/s)
    expect(await isEnabled(client)).toBe(false)
    expect((await logIn(email)).accessToken).toBeTypeOf('string')
    const row = await world.db.selectFrom('two_factor').selectAll().where('user_id', '=', userId).executeTakeFirst()
    expect(row?.secret_sealed).not.toContain(first.secret)
    // Again: another seed, and the first is worth nothing.
    const second = (await client.call<Setup>('POST', '/auth/2fa/setup')).data
    expect(second.secret).not.toBe(first.secret)
    const code = codeOf(first.secret, await databaseTime(world.db))
    await expect(client.call('POST', '/auth/2fa/enable', { body: { code } })).rejects.toMatchObject(wrongCode)
    expect(await isEnabled(client)).toBe(false)
  })

  it('is over with a code: ten recovery codes, the event, and no way to set up again', async () => {
    const { client, factor, workspaceId } = await protectedPerson()
    expect(new Set(factor.recoveryCodes).size).toBe(10)
    expect(await isEnabled(client)).toBe(true)
    expect(await events(workspaceId)).toEqual(['security.mfa_enabled'])
    await expect(client.call('POST', '/auth/2fa/setup')).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const code = await factor.nextCode()
    await expect(client.call('POST', '/auth/2fa/enable', { body: { code } })).rejects.toMatchObject({ status: 409 })
  })

  it('enabled twice at once is enabled once', async () => {
    const { client, userId, workspaceId } = await person()
    const { secret } = (await client.call<Setup>('POST', '/auth/2fa/setup')).data
    const code = codeOf(secret, await databaseTime(world.db))
    const tries = await Promise.allSettled(
      [1, 2, 3].map(() => client.call('POST', '/auth/2fa/enable', { body: { code } })),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await events(workspaceId)).toHaveLength(1)
    const codes = world.db.selectFrom('recovery_code').select('hash').where('user_id', '=', userId)
    expect(await codes.execute()).toHaveLength(10)
  })

  it('cannot be enabled before it was set up', async () => {
    const { client } = await person()
    await expect(client.call('POST', '/auth/2fa/enable', { body: { code: '123456' } })).rejects.toMatchObject({
      status: 409,
    })
  })

  it('seals the seed under the user’s id, and `secrets reseal` finds it', async () => {
    const { userId, factor } = await protectedPerson()
    const { masterKeys } = world.api.config
    const sealed = async () =>
      (await world.db.selectFrom('two_factor').select('secret_sealed').where('user_id', '=', userId).executeTakeFirst())
        ?.secret_sealed ?? ''
    expect(unseal(masterKeys, userId, await sealed())).toBe(factor.secret)
    const next = new Map([['next', Buffer.alloc(32, 9)], ...masterKeys])
    expect(await resealSecrets(world.db, next)).toMatchObject({ kept: 0 })
    expect(await sealed()).toMatch(/^next\./)
    // Back, for the API of this file.
    await resealSecrets(world.db, new Map([...masterKeys, ['next', Buffer.alloc(32, 9)]]))
    expect(unseal(masterKeys, userId, await sealed())).toBe(factor.secret)
  })

  it('every sealed column is one that `secrets reseal` knows', async () => {
    const { rows } = await sql<{ place: string }>`
      select table_name || '.' || column_name as place from information_schema.columns
       where table_schema = 'public' and column_name like '%sealed' order by 1`.execute(world.db)
    const known: string[] = []
    const keys = new Map([['probe', Buffer.alloc(32, 1)]])
    const listening = world.db.withPlugin({
      transformQuery: ({ node }) => {
        known.push(JSON.stringify(node))
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await resealSecrets(listening, keys)
    const names = (place: string) => place.split('.').map((name) => `"name":"${name}"`)
    const missing = rows.filter(({ place }) => !known.some((node) => names(place).every((name) => node.includes(name))))
    expect(rows.length).toBeGreaterThanOrEqual(6)
    expect(missing).toEqual([])
  })
})

describe('a login', () => {
  it('asks for a code after the password, and gives no token before it', async () => {
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
    expect(workspaceId).toBeTypeOf('string')
  })

  it('takes a token once', async () => {
    const { email, factor } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    await verify(mfaToken, await factor.nextCode())
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it('takes a code once, also for another login', async () => {
    const { email, factor } = await protectedPerson()
    const code = await factor.nextCode()
    const [one, two] = [await logIn(email), await logIn(email)]
    await verify(one.mfaToken, code)
    await expect(verify(two.mfaToken, code)).rejects.toMatchObject(wrongCode)
  })

  it('of several with one code at once one is let in', async () => {
    const { email, factor, userId } = await protectedPerson()
    const logins = await Promise.all([1, 2, 3, 4].map(() => logIn(email)))
    const code = await factor.nextCode()
    const tries = await Promise.allSettled(logins.map(({ mfaToken }) => verify(mfaToken, code)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const sessions = await world.db.selectFrom('session').select('id').where('user_id', '=', userId).execute()
    expect(sessions).toHaveLength(2) // the one that the person had, and this
  })

  it('of several with one token and one code at once one is let in', async () => {
    const { email, factor } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    const code = await factor.nextCode()
    const tries = await Promise.allSettled([1, 2, 3].map(() => verify(mfaToken, code)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('takes a recovery code once, however it is typed', async () => {
    const { email, factor } = await protectedPerson()
    const [code = ''] = factor.recoveryCodes
    await verify((await logIn(email)).mfaToken, code.toLowerCase().replaceAll('-', ' '))
    await expect(verify((await logIn(email)).mfaToken, code)).rejects.toMatchObject(wrongCode)
    await verify((await logIn(email)).mfaToken, factor.recoveryCodes[1] ?? '')
  })

  it('of several with one recovery code at once one is let in', async () => {
    const { email, factor } = await protectedPerson()
    const logins = await Promise.all([1, 2, 3].map(() => logIn(email)))
    const tries = await Promise.allSettled(
      logins.map(({ mfaToken }) => verify(mfaToken, factor.recoveryCodes[0] ?? '')),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('forgets the token after five minutes', async () => {
    const { email, factor, userId } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    const earlier = (minutes: number) =>
      sql`update mfa_token set expires_at = expires_at - ${minutes} * interval '1 minute'
           where user_id = ${userId}`.execute(world.db)
    await earlier(5)
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
    // What was left behind goes with the next login.
    await logIn(email)
    const left = await world.db.selectFrom('mfa_token').select('user_id').where('user_id', '=', userId).execute()
    expect(left).toHaveLength(1)
  })

  it('forgets the token when all sessions end, and when codes are switched off', async () => {
    const { email, factor, client } = await protectedPerson()
    const one = await logIn(email)
    await client.call('POST', '/auth/2fa/disable', { body: { password, code: await factor.nextCode() } })
    await expect(verify(one.mfaToken, '123456')).rejects.toMatchObject(notValid)
    const other = await protectedPerson()
    const two = await logIn(other.email)
    await other.client.call('POST', '/auth/logout-all')
    await expect(verify(two.mfaToken, await other.factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it('lets nobody in who was disabled since the password', async () => {
    const { email, factor, userId } = await protectedPerson()
    const { mfaToken } = await logIn(email)
    await world.db.updateTable('app_user').set({ disabled_at: new Date() }).where('id', '=', userId).execute()
    await expect(verify(mfaToken, await factor.nextCode())).rejects.toMatchObject(notValid)
  })

  it.each(['', 'x', 'a'.repeat(43)])('knows no token %j', async (mfaToken) => {
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

  it('five of them end the token, and stop codes of the account for a quarter of an hour', async () => {
    const { email, factor, userId, client } = await protectedPerson()
    const token = await tryFive(factor, email)
    await expect(verify(token, await factor.nextCode())).rejects.toMatchObject(notValid)
    // Another login, and whoever is signed in: the count is the account's.
    const right = await factor.nextCode()
    await expect(verify((await logIn(email)).mfaToken, right)).rejects.toMatchObject(stopped)
    const body = { password, code: right }
    await expect(client.call('POST', '/auth/2fa/disable', { body })).rejects.toMatchObject(stopped)
    // A recovery code still opens it.
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

  it('many at once are counted one by one: no more than five are judged', async () => {
    const { email, factor } = await protectedPerson()
    const logins: Login[] = []
    while (logins.length < 10) logins.push(await logIn(email))
    const wrong = await factor.wrongCode()
    const answers = await Promise.all(
      logins.map(({ mfaToken }) => verify(mfaToken, wrong).catch((error: { code: string }) => error.code)),
    )
    expect(answers.filter((code) => code === 'INVALID_PARAMS')).toHaveLength(5)
    expect(answers.filter((code) => code === 'RATE_LIMIT_EXCEEDED')).toHaveLength(5)
  })

  it('five recovery codes an hour, which leaves codes by time alone', async () => {
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

  it('say when the next is judged', async () => {
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
    const { items } = (await client.call<{ items: object[] }>('GET', '/users/login-history')).data
    expect(items).toHaveLength(6)
    expect(items[0]).toMatchObject({ success: false, method: 'totp', failureReason: 'too_many_codes' })
    expect(items[1]).toMatchObject({ success: false, method: 'totp', failureReason: 'wrong_code' })
  })
})

describe('switching off and new recovery codes', () => {
  it('need password and code, each of which is judged', async () => {
    const { client, factor } = await protectedPerson()
    for (const path of ['/auth/2fa/disable', '/auth/2fa/recovery-codes']) {
      const call = (body: object) => client.call('POST', path, { body })
      const code = await factor.nextCode()
      await expect(call({ password: 'another password', code })).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: '/body/password' }] },
      })
      await expect(call({ password, code: await factor.wrongCode() })).rejects.toMatchObject(wrongCode)
      await expect(call({ password })).rejects.toMatchObject(wrongCode)
      // The wrong password has not used the code up.
      if (path.endsWith('codes')) await call({ password, code })
    }
    expect(await isEnabled(client)).toBe(true)
  })

  it('off: the event, logins without codes, and nothing of the seed is left', async () => {
    const { client, factor, email, userId, workspaceId } = await protectedPerson()
    const body = { password, code: await factor.nextCode() }
    expect((await client.call('POST', '/auth/2fa/disable', { body })).data).toEqual({ mfaEnabled: false })
    expect(await events(workspaceId)).toEqual(['security.mfa_enabled', 'security.mfa_disabled'])
    expect((await logIn(email)).accessToken).toBeTypeOf('string')
    for (const table of ['two_factor', 'recovery_code'] as const) {
      const rows = world.db.selectFrom(table).select('user_id').where('user_id', '=', userId)
      expect(await rows.execute()).toEqual([])
    }
    await expect(client.call('POST', '/auth/2fa/disable', { body })).rejects.toMatchObject({ status: 409 })
    // And on again: a new seed, a new event.
    await enableSecondFactor(world.db, client)
    expect(await events(workspaceId)).toHaveLength(3)
  })

  it('new recovery codes put the old ones out of use; a recovery code buys them too', async () => {
    const { client, factor, email } = await protectedPerson()
    const [first = '', second = ''] = factor.recoveryCodes
    const body = { password, code: first }
    const renewed = await client.call<{ recoveryCodes: string[] }>('POST', '/auth/2fa/recovery-codes', { body })
    const { recoveryCodes } = renewed.data
    expect(new Set([...recoveryCodes, ...factor.recoveryCodes]).size).toBe(20)
    await expect(verify((await logIn(email)).mfaToken, second)).rejects.toMatchObject(wrongCode)
    await verify((await logIn(email)).mfaToken, recoveryCodes[0] ?? '')
  })
})

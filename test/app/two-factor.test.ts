// The second factor (D16): setup, enabling and disabling. two-factor-login.test.ts covers logins.

import { unseal } from '@matte/core/runtime/seal'
import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { notifyEvents } from '@matte/people/notification/make-notifications'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import type { AppClient } from '../support/app/app-client.ts'
import { readMails } from '../support/app/mails.ts'
import { givenPerson } from '../support/app/people.ts'
import { password } from '../support/app/sign-in/given-password.ts'
import { codeOf, databaseTime, enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { twoFactorWorld, wrongCode } from '../support/app/sign-in/two-factor-world.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address
const { person, protectedPerson, logIn, verify, events } = twoFactorWorld(world)

type Setup = { readonly secret: string; readonly otpauthUrl: string; readonly qrCodeSvg: string }
const isEnabled = async (client: AppClient) =>
  (await client.call<{ mfaEnabled: boolean }>('GET', '/users/profile')).data.mfaEnabled

describe('setup of two-factor sign-in', () => {
  it('returns a seed, its URL and a picture, and changes nothing before a valid code', async () => {
    const { client, email, userId } = await person()
    const first = (await client.call<Setup>('POST', '/auth/2fa/setup', { body: { password } })).data
    expect(first.secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(first.otpauthUrl).toContain(`otpauth://totp/Matte:${encodeURIComponent(email)}?`)
    expect(first.qrCodeSvg).toMatch(/^<svg .*<\/svg>$/s)
    expect(await isEnabled(client)).toBe(false)
    expect((await logIn(email)).accessToken).toBeTypeOf('string')
    const row = await world.db.selectFrom('two_factor').selectAll().where('user_id', '=', userId).executeTakeFirst()
    expect(row?.secret_sealed).not.toContain(first.secret)
    // A second setup has another seed and invalidates the first.
    const second = (await client.call<Setup>('POST', '/auth/2fa/setup', { body: { password } })).data
    expect(second.secret).not.toBe(first.secret)
    const code = codeOf(first.secret, await databaseTime(world.db))
    await expect(client.call('POST', '/auth/2fa/enable', { body: { password, code } })).rejects.toMatchObject(wrongCode)
    expect(await isEnabled(client)).toBe(false)
  })

  it('ends with a code: ten recovery codes, the event, and no second setup', async () => {
    const { client, factor, workspaceId } = await protectedPerson()
    expect(new Set(factor.recoveryCodes).size).toBe(10)
    expect(await isEnabled(client)).toBe(true)
    expect(await events(workspaceId)).toEqual(['security.mfa_enabled'])
    await expect(client.call('POST', '/auth/2fa/setup', { body: { password } })).rejects.toMatchObject({
      status: 409,
      code: 'CONFLICT',
    })
    const code = await factor.nextCode()
    await expect(client.call('POST', '/auth/2fa/enable', { body: { password, code } })).rejects.toMatchObject({
      status: 409,
    })
  })

  it('succeeds once with concurrent requests', async () => {
    const { client, userId, workspaceId } = await person()
    const { secret } = (await client.call<Setup>('POST', '/auth/2fa/setup', { body: { password } })).data
    const code = codeOf(secret, await databaseTime(world.db))
    const tries = await Promise.allSettled(
      [1, 2, 3].map(() => client.call('POST', '/auth/2fa/enable', { body: { password, code } })),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await events(workspaceId)).toHaveLength(1)
    const codes = world.db.selectFrom('recovery_code').select('hash').where('user_id', '=', userId)
    expect(await codes.execute()).toHaveLength(10)
  })

  it('cannot be enabled before setup', async () => {
    const { client } = await person()
    const body = { password, code: '123456' }
    await expect(client.call('POST', '/auth/2fa/enable', { body })).rejects.toMatchObject({ status: 409 })
  })

  it('requires the password at both steps, so a stolen access token enables nothing', async () => {
    const { client, email } = await person()
    const wrong = { code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/password' }] } }
    const setUp = (body: object) => client.call<Setup>('POST', '/auth/2fa/setup', { body })
    for (const body of [{}, { password: 'another password' }]) await expect(setUp(body)).rejects.toMatchObject(wrong)
    const { secret } = (await setUp({ password })).data
    const code = codeOf(secret, await databaseTime(world.db))
    for (const body of [{ code }, { password: 'another password', code }]) {
      await expect(client.call('POST', '/auth/2fa/enable', { body })).rejects.toMatchObject(wrong)
    }
    expect(await isEnabled(client)).toBe(false)
    expect((await logIn(email)).accessToken).toBeTypeOf('string')
  })

  it('explains to a user without a password how to set one', async () => {
    const { client } = await givenPerson(world.db, world.api)
    await expect(client.call('POST', '/auth/2fa/setup', { body: { password } })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      message: expect.stringContaining('forgotPassword'),
      details: { issues: [{ path: '/body/password' }] },
    })
  })

  it('and disabling send mails to the owner, with advice to contact an operator', async () => {
    const { client, factor, userId } = await protectedPerson()
    await client.call('POST', '/auth/2fa/disable', { body: { password, code: await factor.nextCode() } })
    const { masterKeys } = world.api.config
    while ((await notifyEvents({ db: world.db, masterKeys, mailEnabled: true }, {})) > 0);
    const mails = (await readMails(world.db, masterKeys, { userId })).map(({ data }) => data)
    expect(mails.map(({ event }) => event)).toEqual(['security.mfa_enabled', 'security.mfa_disabled'])
    for (const { body } of mails) expect(body).toContain('the operator of this service can switch them off')
  })

  it('encrypts the seed for the user’s id, and `secrets reseal` finds it', async () => {
    const { userId, factor } = await protectedPerson()
    const { masterKeys } = world.api.config
    const sealed = async () =>
      (await world.db.selectFrom('two_factor').select('secret_sealed').where('user_id', '=', userId).executeTakeFirst())
        ?.secret_sealed ?? ''
    expect(unseal(masterKeys, userId, await sealed())).toBe(factor.secret)
    const next = new Map([['next', Buffer.alloc(32, 9)], ...masterKeys])
    expect(await resealSecrets(world.db, next)).toMatchObject({ kept: 0 })
    expect(await sealed()).toMatch(/^next\./)
    // Restores the key for the API of this file.
    await resealSecrets(world.db, new Map([...masterKeys, ['next', Buffer.alloc(32, 9)]]))
    expect(unseal(masterKeys, userId, await sealed())).toBe(factor.secret)
  })

  it('`secrets reseal` covers every encrypted column', async () => {
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

describe('disabling and new recovery codes', () => {
  it('require password and code, each of which is checked', async () => {
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
      // The wrong password has not used the code.
      if (path.endsWith('codes')) await call({ password, code })
    }
    expect(await isEnabled(client)).toBe(true)
  })

  it('disable: the event, logins without codes, and no stored seed', async () => {
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
    // Enabling again creates a new seed and a new event.
    await enableSecondFactor(world.db, client)
    expect(await events(workspaceId)).toHaveLength(3)
  })

  it('replace the recovery codes; a recovery code is accepted too', async () => {
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

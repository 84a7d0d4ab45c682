// Registration from the form to the link in the mail: what an account consists of, and when none is created.
import { hashAddress } from '@matte/core/address'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenAccount, newEmail, newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { mailsTo, tokensTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', APP_URL: 'https://app.example.com' })

const post = <T = { status: string }>(path: string, body: unknown) =>
  createAppClient(world.api.url).call<T>('POST', `/auth${path}`, { body })
const register = (email: string, more: Record<string, unknown> = {}) =>
  post('/register', { email, password: newPassword(), ...more })
const verify = (token: string | undefined, password: string) => post<SignedIn>('/verify-email', { token, password })
const verificationsTo = (email: string, count: number) => tokensTo(world, email, { template: 'verify-email', count })
const templatesTo = async (email: string) => (await mailsTo(world.db, world.api, email)).map(({ template }) => template)
const userOf = (email: string) =>
  world.db.selectFrom('app_user').selectAll().where('email', '=', email).executeTakeFirstOrThrow()
/** As if a day had passed since the mails. */
const expireLinks = async (email: string) =>
  world.db
    .updateTable('mail_token')
    .set({ expires_at: new Date(0) })
    .where('user_id', '=', (await userOf(email)).id)
    .execute()
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }

describe('a new account', () => {
  it('is verified by the mail, once: workspace, owner, credits, event, session', async () => {
    const email = newEmail()
    const password = newPassword()
    const { data, status } = await register(email, { password, name: 'Jane Roe', referralCode: 'FRIEND1' })
    expect([status, data]).toEqual([200, { status: 'verification_sent' }])
    const [token] = await verificationsTo(email, 1)
    const { data: signedIn } = await verify(token, password)
    expect(signedIn).toMatchObject({ tokenType: 'Bearer', expiresIn: 900, user: { email, name: 'Jane Roe' } })
    const { client } = { client: createAppClient(world.api.url, signedIn.accessToken) }
    expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ available: 10 })

    const { id, referral_code, registered_from } = await userOf(email)
    expect([referral_code, registered_from]).toEqual(['FRIEND1', '127.0.0.1'])
    const workspace = await world.db
      .selectFrom('workspace as w')
      .innerJoin('membership as m', 'm.workspace_id', 'w.id')
      .select(['w.id', 'w.plan', 'w.kind', 'w.name', 'm.role', 'm.user_id'])
      .where('w.personal_of', '=', id)
      .executeTakeFirstOrThrow()
    expect(workspace).toMatchObject({ plan: 'free', kind: 'personal', name: 'Jane Roe', role: 'owner', user_id: id })
    const events = await world.db.selectFrom('notification_due').select('event').where('user_id', '=', id).execute()
    expect(events).toEqual([{ event: 'welcome' }])
    await expect(verify(token, password)).rejects.toMatchObject(refused)
  })

  it('is created once by two concurrent clicks', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email, { password })
    const [token] = await verificationsTo(email, 1)
    const clicks = await Promise.allSettled(Array.from({ length: 5 }, () => verify(token, password)))
    expect(clicks.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const { id } = await userOf(email)
    const workspaces = await world.db.selectFrom('workspace').select('id').where('personal_of', '=', id).execute()
    expect(workspaces).toHaveLength(1)
  })

  it('is not created by a link of another kind, an expired one, or an unknown one', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email, { password })
    const [token] = await verificationsTo(email, 1)
    await expireLinks(email)
    await expect(verify(token, password)).rejects.toMatchObject(refused)
    await expect(verify('nothing', password)).rejects.toMatchObject(refused)
    await post('/password/forgot', { email })
    const [reset] = await tokensTo(world, email, { template: 'reset-password' })
    await expect(verify(reset, password)).rejects.toMatchObject(refused)
  })

  it('can request its mail again, five times at most', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email, { password })
    for (let i = 0; i < 6; i += 1) await post('/verify-email/resend', { email: email.toUpperCase() })
    await untilRequestsDone(world.db)
    const tokens = await verificationsTo(email, 5)
    expect(tokens).toHaveLength(5)
    await verify(tokens[2], password)
    await expect(verify(tokens[4], password)).rejects.toMatchObject(refused)
  })

  it('rejects a password that is short, long, common or its own address', async () => {
    const email = 'jane.roe.of.rome@example.com'
    for (const password of ['elevenchars', 'x7'.repeat(65), 'Password1234!', email, 'qwertyuiop123']) {
      await expect(register(email, { password })).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: '/body/password' }] },
      })
    }
  })
})

describe('an address', () => {
  it('with an account gets the same response; its owner gets one mail, and nothing changes', async () => {
    const { email, password } = await givenAccount(world)
    const { data } = await register(email.toUpperCase())
    await register(email)
    expect(data).toEqual({ status: 'verification_sent' })
    await untilRequestsDone(world.db)
    expect(await templatesTo(email)).toEqual(['verify-email', 'already-registered'])
    expect((await post('/login', { email, password })).status).toBe(200)
  })

  it('registered twice with one password keeps it', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email, { password })
    await register(email, { password })
    const [, token] = await verificationsTo(email, 2)
    await verify(token, password)
    expect((await post('/login', { email, password })).status).toBe(200)
  })

  it.each(['before', 'after'])(
    'registered by a stranger %s can be verified with the password of its owner',
    async (when) => {
      const [email, owners, strangers] = [newEmail(), newPassword(), newPassword()]
      const passwords = when === 'before' ? [strangers, owners] : [owners, strangers]
      for (const [index, password] of passwords.entries()) {
        await register(email, { password, referralCode: 'THEIRS' })
        await verificationsTo(email, index + 1)
      }
      const tokens = await verificationsTo(email, 2)
      const [ofOwner, ofStranger] = when === 'before' ? tokens.toReversed() : tokens
      await expect(verify(ofStranger, owners)).rejects.toMatchObject(refused)
      await verify(ofOwner, owners)
      await expect(verify(ofStranger, strangers)).rejects.toMatchObject(refused)
      await expect(post('/login', { email, password: strangers })).rejects.toMatchObject(refused)
      expect((await post('/login', { email, password: owners })).status).toBe(200)
      expect((await userOf(email)).referral_code).toBeNull()
    },
  )

  it('registered more than a day ago belongs to the new registration', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email)
    await verificationsTo(email, 1)
    await expireLinks(email)
    await register(email, { password })
    const [, token] = await verificationsTo(email, 2)
    await verify(token, password)
    expect((await post('/login', { email, password })).status).toBe(200)
  })

  it('registered ten times concurrently is one account', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await Promise.all(Array.from({ length: 10 }, () => register(email, { password })))
    await untilRequestsDone(world.db)
    const [token] = await verificationsTo(email, 1)
    expect((await verify(token, password)).status).toBe(200)
  })

  it.each(['jane', 'jane@', '@example.com', 'a b@example.com', 'a@b@c', 'a@example.com\r\nBcc: x@example.com'])(
    'that is invalid is rejected: %j',
    async (email) => {
      await expect(register(email)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    },
  )
})

describe('the link of a registration by a stranger', () => {
  const given = async () => {
    const [email, strangers] = [newEmail(), newPassword()]
    await register(email, { password: strangers, name: 'Stranger', referralCode: 'THEIRS' })
    const [token = ''] = await verificationsTo(email, 1)
    return { email, strangers, token }
  }
  /** The owner reads the mails, and so can set a password. */
  const reset = async (email: string) => {
    const newOne = newPassword()
    await post('/password/forgot', { email })
    const [token] = await tokensTo(world, email, { template: 'reset-password' })
    await post('/password/reset', { token, newPassword: newOne })
    return newOne
  }

  it('responds to another password like a failed login, offers the reset, and stays valid', async () => {
    const { email, strangers, token } = await given()
    await expect(verify(token, newPassword())).rejects.toMatchObject({
      ...refused,
      details: { passwordReset: 'POST /api/v1/app/auth/password/forgot' },
    })
    await expect(post('/verify-email', { token })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    const { id, email_verified_at } = await userOf(email)
    expect(email_verified_at).toBeNull()
    const history = world.db.selectFrom('login_event').selectAll().where('user_id', '=', id)
    expect(await history.execute()).toMatchObject([
      { success: false, method: 'verify_email', failure_reason: 'wrong_password' },
    ])
    expect((await verify(token, strangers)).status).toBe(200)
  })

  it('delays wrong passwords like a login', async () => {
    const { email, strangers, token } = await given()
    for (let i = 0; i < 5; i += 1) await expect(verify(token, newPassword())).rejects.toMatchObject(refused)
    await world.db
      .updateTable('login_failure')
      .set({ allowed_at: new Date(Date.now() + 60_000) })
      .where('account', '=', hashAddress(email))
      .where('network', '!=', '')
      .execute()
    const stopped = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'password' } }
    await expect(verify(token, strangers)).rejects.toMatchObject(stopped)
    await expect(post('/login', { email, password: strangers })).rejects.toMatchObject(stopped)
  })

  it('leaves no password for the account after its owner has set one', async () => {
    const { email, strangers, token } = await given()
    const owners = await reset(email)
    // The mail with the link verified the address.
    const { data } = await post<SignedIn>('/login', { email, password: owners })
    const client = createAppClient(world.api.url, data.accessToken)
    expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ available: 10 })
    await expect(post('/login', { email, password: strangers })).rejects.toMatchObject(refused)
    await expect(verify(token, strangers)).rejects.toMatchObject(refused)
    expect(await userOf(email)).toMatchObject({ name: null, referral_code: null, registered_from: null })
  })

  it('accepts the new password after a reset, once, and never in place of a second factor', async () => {
    const one = await given()
    const owners = await reset(one.email)
    const { data } = await verify(one.token, owners)
    expect(data.user.email).toBe(one.email)
    await expect(verify(one.token, owners)).rejects.toMatchObject(refused)

    const other = await given()
    const password = await reset(other.email)
    const { id } = await userOf(other.email)
    await world.db
      .insertInto('two_factor')
      .values({ user_id: id, secret_sealed: 'sealed', enabled_at: new Date(), last_step: 1 })
      .execute()
    await expect(verify(other.token, password)).rejects.toMatchObject(refused)
  })
})

describe('registration', () => {
  const other = async (env: Record<string, string>, act: (url: string) => Promise<void>) => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, OPEN_REQUESTS_PER_MINUTE: '1000000', ...env })
    try {
      await act(api.url)
    } finally {
      await api.stop()
    }
  }
  const statuses = (url: string) =>
    Promise.all(
      [
        ['/register', { email: newEmail(), password: newPassword() }],
        ['/verify-email/resend', { email: newEmail() }],
        ['/password/forgot', { email: newEmail() }],
        ['/password/reset', { token: 'x', newPassword: newPassword() }],
      ].map(([path, body]) =>
        createAppClient(url)
          .call('POST', `/auth${path}`, { body })
          .then(
            ({ status }) => status,
            ({ status }: { status: number }) => status,
          ),
      ),
    )

  it('can be closed, and password resets still work', async () => {
    await other({ AUTH_REGISTRATION: 'closed' }, async (url) =>
      expect(await statuses(url)).toEqual([404, 404, 200, 401]),
    )
  })

  it('is off in production without mail, and so are resets', async () => {
    const production = { MATTE_ENV: 'production', AUTH_REGISTRATION: 'open' }
    await other(production, async (url) => expect(await statuses(url)).toEqual([404, 404, 404, 404]))
    await other({ ...production, MAIL_ENABLED: 'true' }, async (url) =>
      expect(await statuses(url)).toEqual([200, 200, 200, 401]),
    )
  })
})

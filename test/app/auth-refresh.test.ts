// Refresh tokens: one use each, in families. Two concurrent tabs both continue; late reuse of a token ends the family.
import { decodeJwt } from 'jose'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { givenPerson } from '../support/app/people.ts'
import { type Account, givenAccount, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { letTokenPass, sessionOfToken } from '../support/app/sign-in/token-rows.ts'
import { until } from '../support/until.ts'

type Tokens = Omit<SignedIn, 'user'>

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }

const refreshAt = (url: string, refreshToken: string) =>
  createAppClient(url)
    .call<Tokens>('POST', '/auth/refresh', { body: { refreshToken } })
    .then(({ data }) => data)
const refresh = (refreshToken: string) => refreshAt(world.api.url, refreshToken)
const balanceWith = ({ accessToken }: Pick<Tokens, 'accessToken'>) =>
  createAppClient(world.api.url, accessToken).call('GET', '/credits/balance')

const letPass = (refreshToken: string, seconds: number) => letTokenPass(world.db, { refreshToken, seconds })
const sessionOf = (tokens: Pick<Tokens, 'accessToken'>) => sessionOfToken(world.db, tokens)

describe('a refresh', () => {
  it('returns new tokens of the same session with an unchanged expiry', async () => {
    const { tokens } = await givenAccount(world)
    const before = await sessionOf(tokens)
    const next = await refresh(tokens.refreshToken)
    expect(next).toEqual({ ...next, tokenType: 'Bearer', expiresIn: 900 })
    expect(next.refreshToken).not.toBe(tokens.refreshToken)
    expect(decodeJwt(next.accessToken)).toMatchObject({ sid: before.id, role: 'owner', aud: 'matte-app' })
    expect((await sessionOf(next)).expires_at).toEqual(before.expires_at)
    await expect(balanceWith(next)).resolves.toMatchObject({ status: 200 })
  })

  it('stores no token in plain text', async () => {
    const { tokens } = await givenAccount(world)
    const next = await refresh(tokens.refreshToken)
    const rows = await world.db
      .selectFrom('refresh_token')
      .selectAll()
      .where('session_id', '=', (await sessionOf(next)).id)
      .execute()
    expect(rows).toHaveLength(2)
    const text = JSON.stringify(rows.map(({ hash, ...row }) => ({ ...row, hash: hash.toString('latin1') })))
    for (const { refreshToken } of [tokens, next]) expect(text).not.toContain(refreshToken.slice(8, 20))
  })

  it('is rejected with an access token, an unknown token, and after the end of the family', async () => {
    const { tokens } = await givenAccount(world)
    await expect(refresh(tokens.accessToken.slice(0, 199))).rejects.toMatchObject(refused)
    await expect(refresh(`refresh_${'A'.repeat(43)}`)).rejects.toMatchObject(refused)
    await expect(balanceWith({ accessToken: tokens.refreshToken })).rejects.toMatchObject(refused)
    const { id } = await sessionOf(tokens)
    await world.db
      .updateTable('session')
      .set({ expires_at: new Date(0) })
      .where('id', '=', id)
      .execute()
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
  })

  it('reads the role again, and falls back to the personal workspace for a former member', async () => {
    const owner = await givenPerson(world.db, world.api)
    const { tokens, userId } = await givenAccount(world)
    const { workspaceId } = owner
    await world.db
      .insertInto('membership')
      .values({ workspace_id: workspaceId, user_id: userId, role: 'admin' })
      .execute()
    const { id, workspace_id: personal } = await sessionOf(tokens)
    await world.db.updateTable('session').set({ workspace_id: workspaceId }).where('id', '=', id).execute()
    const asAdmin = await refresh(tokens.refreshToken)
    expect(decodeJwt(asAdmin.accessToken)).toMatchObject({ ws: workspaceId, role: 'admin' })
    await world.db
      .deleteFrom('membership')
      .where('workspace_id', '=', workspaceId)
      .where('user_id', '=', userId)
      .execute()
    const asOwner = await refresh(asAdmin.refreshToken)
    expect(decodeJwt(asOwner.accessToken)).toMatchObject({ ws: personal, role: 'owner' })
  })

  it('is rejected for a disabled user, and works again once enabled', async () => {
    const { tokens, userId } = await givenAccount(world)
    const disable = (at: Date | null) =>
      world.db.updateTable('app_user').set({ disabled_at: at }).where('id', '=', userId).execute()
    await disable(new Date())
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
    await disable(null)
    await expect(refresh(tokens.refreshToken)).resolves.toMatchObject({ tokenType: 'Bearer' })
  })
})

describe('a used refresh token', () => {
  it('returns the same successor to concurrent tabs, and all continue', async () => {
    const { tokens } = await givenAccount(world)
    const tabs = await Promise.all(Array.from({ length: 12 }, () => refresh(tokens.refreshToken)))
    expect(new Set(tabs.map(({ refreshToken }) => refreshToken)).size).toBe(1)
    const { id } = await sessionOf(tokens)
    const unspent = await world.db
      .selectFrom('refresh_token')
      .select('hash')
      .where('session_id', '=', id)
      .where('spent_at', 'is', null)
      .execute()
    expect(unspent).toHaveLength(1)
    for (const tab of tabs.slice(0, 2)) await expect(balanceWith(tab)).resolves.toMatchObject({ status: 200 })
    await expect(refresh(tabs[0]?.refreshToken ?? '')).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('can be repeated for ten seconds', async () => {
    const { tokens } = await givenAccount(world)
    const first = await refresh(tokens.refreshToken)
    await letPass(tokens.refreshToken, 8)
    expect((await refresh(tokens.refreshToken)).refreshToken).toBe(first.refreshToken)
  })

  it('that is used later ends the family, on every replica within 5 s', async () => {
    const other = await startApi({ DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url })
    try {
      const reused = await exposedAt(world.api.healthUrl, 'matte_token_refreshes_total', { outcome: 'reused' })
      const { tokens } = await givenAccount(world)
      const next = await refresh(tokens.refreshToken)
      const elsewhere = createAppClient(other.url, next.accessToken)
      await elsewhere.call('GET', '/credits/balance')
      await letPass(tokens.refreshToken, 11)
      await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
      await expect(refresh(next.refreshToken)).rejects.toMatchObject(refused)
      for (const client of [elsewhere, createAppClient(world.api.url, next.accessToken)]) {
        await until('the access token is refused', () => isRefused(client.call('GET', '/credits/balance')), {
          timeoutMs: 5_000,
        })
      }
      expect(await exposedAt(world.api.healthUrl, 'matte_token_refreshes_total', { outcome: 'reused' })).toBe(
        reused + 1,
      )
    } finally {
      await other.stop()
    }
  })

  it('whose successor is used ends the family at once', async () => {
    const { tokens } = await givenAccount(world)
    const next = await refresh(tokens.refreshToken)
    const third = await refresh(next.refreshToken)
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
    await expect(refresh(third.refreshToken)).rejects.toMatchObject(refused)
  })

  it('and its concurrent successor take turns, or the family ends; two live tokens never result', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { tokens } = await givenAccount(world)
      const next = await refresh(tokens.refreshToken)
      const both = [tokens, next, tokens, next]
      const done = await Promise.allSettled(both.map(({ refreshToken }) => refresh(refreshToken)))
      const { id, ended_at } = await sessionOf(tokens)
      const unspent = await world.db
        .selectFrom('refresh_token')
        .select('hash')
        .where('session_id', '=', id)
        .where('spent_at', 'is', null)
        .execute()
      expect(unspent).toHaveLength(1)
      // The old one after its successor is a reuse; before, it is a second tab.
      const oldRefused = done.some(({ status }, index) => index % 2 === 0 && status === 'rejected')
      expect(ended_at !== null).toBe(oldRefused)
    }
  })
})

describe('master keys', () => {
  const fresh = `fresh:${Buffer.alloc(32, 9).toString('base64')}`
  const former = `test:${Buffer.alloc(32, 1).toString('base64')}`

  it('can be replaced between a refresh and its repetition', async () => {
    // Registered before the replica starts, which would encrypt the mail with its new key.
    const { tokens } = await givenAccount(world)
    const replica = await startApi({
      DATABASE_URL: world.databaseUrl,
      PUBLIC_URL: world.api.url,
      MASTER_KEYS: `${fresh},${former}`,
      OPEN_REQUESTS_PER_MINUTE: '1000000',
    })
    try {
      const next = await refresh(tokens.refreshToken)
      expect((await refreshAt(replica.url, tokens.refreshToken)).refreshToken).toBe(next.refreshToken)
      const third = await refreshAt(replica.url, next.refreshToken)
      expect((await refreshAt(replica.url, next.refreshToken)).refreshToken).toBe(third.refreshToken)
      // A replica without the new key cannot decide, and signs out no user.
      await expect(refresh(next.refreshToken)).rejects.toMatchObject({ status: 500 })
      await expect(refresh(third.refreshToken)).resolves.toMatchObject({ tokenType: 'Bearer' })
    } finally {
      await replica.stop()
    }
  })

  it('that are removed keep no stolen token alive: reuse still ends the family', async () => {
    const { tokens } = await givenAccount(world)
    const next = await refresh(tokens.refreshToken)
    await letPass(tokens.refreshToken, 60)
    const gone = { derived_by: 'gone' }
    await world.db.updateTable('refresh_token').set(gone).where('spent_at', 'is not', null).execute()
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject({ status: 401 })
    await expect(refresh(next.refreshToken)).rejects.toMatchObject({ status: 401 })
  })
})

describe('sessions', () => {
  const signIn = async ({ email, password }: Account) => {
    const { data } = await createAppClient(world.api.url).call<Tokens>('POST', '/auth/login', {
      body: { email, password },
      headers: { 'user-agent': 'second' },
    })
    return { ...data, client: createAppClient(world.api.url, data.accessToken) }
  }
  type Listed = { id: string; userAgent: string; ipAddress: string; current: boolean; createdAt: string }
  const list = async (account: Pick<Account, 'client'>, query = '') =>
    (
      await account.client.call<{ items: Listed[]; total: number; nextCursor: string | null }>(
        'GET',
        `/auth/sessions${query}`,
      )
    ).data

  it('are listed, newest first, with the current one, page by page', async () => {
    const account = await givenAccount(world)
    await signIn(account)
    const all = await list(account)
    expect(all.items.map(({ userAgent, current }) => [userAgent, current])).toEqual([
      ['second', false],
      [expect.any(String), true],
    ])
    expect(all.items[0]).toMatchObject({ ipAddress: '127.0.0.1' })
    const first = await list(account, '?pageSize=1')
    const second = await list(account, `?pageSize=1&cursor=${first.nextCursor}`)
    expect([first, second].map(({ items }) => items[0]?.id)).toEqual(all.items.map(({ id }) => id))
    expect([second.nextCursor, second.total]).toEqual([null, 2])
  })

  it('are ended one by one, and only by their owner', async () => {
    const [account, stranger] = [await givenAccount(world), await givenAccount(world)]
    const second = await signIn(account)
    const id = String(decodeJwt(second.accessToken).sid)
    await expect(stranger.client.call('DELETE', `/auth/sessions/${id}`)).rejects.toMatchObject({ status: 404 })
    await expect(account.client.call('DELETE', '/auth/sessions/x')).rejects.toMatchObject({ status: 404 })
    expect((await account.client.call('DELETE', `/auth/sessions/${id}`)).data).toEqual({ id, deleted: true })
    await expect(account.client.call('DELETE', `/auth/sessions/${id}`)).rejects.toMatchObject({ status: 404 })
    await expect(refresh(second.refreshToken)).rejects.toMatchObject(refused)
    await until('it is refused', () => isRefused(second.client.call('GET', '/credits/balance')), { timeoutMs: 5_000 })
    expect((await list(account)).items).toHaveLength(1)
  })

  it('are ended by signing out: the current one, that of another refresh token, or all', async () => {
    const account = await givenAccount(world)
    const [second, third] = [await signIn(account), await signIn(account)]
    const stranger = await givenAccount(world)
    const out = (body: { refreshToken: string }) =>
      second.client.call<{ endedSessions: number }>('POST', '/auth/logout', { body })
    expect((await out({ refreshToken: stranger.tokens.refreshToken })).data).toMatchObject({ endedSessions: 1 })
    await expect(refresh(second.refreshToken)).rejects.toMatchObject(refused)
    await expect(refresh(stranger.tokens.refreshToken)).resolves.toBeDefined()
    const all = await third.client.call('POST', '/auth/logout-all')
    expect(all.data).toEqual({ status: 'signed_out', endedSessions: 2 })
    for (const { refreshToken } of [account.tokens, third])
      await expect(refresh(refreshToken)).rejects.toMatchObject(refused)
  })
})

const isRefused = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    ({ status }: { status: number }) => status === 401,
  )

// Signing out with either token, and refresh tokens from before a workspace switch, which stay in one family.
import { hashRefreshToken } from '@matte/people/identity/session/refresh-token'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenAccount, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { letTokenPass, sessionOfToken } from '../support/app/sign-in/token-rows.ts'
import { until } from '../support/until.ts'

type Tokens = Omit<SignedIn, 'user'>

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }

const refresh = (refreshToken: string) =>
  createAppClient(world.api.url)
    .call<Tokens>('POST', '/auth/refresh', { body: { refreshToken } })
    .then(({ data }) => data)
const balanceWith = ({ accessToken }: Pick<Tokens, 'accessToken'>) =>
  createAppClient(world.api.url, accessToken).call('GET', '/credits/balance')

const letPass = (refreshToken: string, seconds: number) => letTokenPass(world.db, { refreshToken, seconds })
const sessionOf = (tokens: Pick<Tokens, 'accessToken'>) => sessionOfToken(world.db, tokens)

const isRefused = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    ({ status }: { status: number }) => status === 401,
  )

describe('a refresh token from before a workspace switch', () => {
  const switched = async () => {
    const account = await givenAccount(world)
    const { id, workspace_id } = await sessionOf(account.tokens)
    const { data } = await account.client.call<Tokens>('POST', `/users/workspaces/${workspace_id}/switch`)
    return { id, before: account.tokens.refreshToken, after: data.refreshToken }
  }

  it('returns the successor that the switch created, for ten seconds', async () => {
    const { before, after } = await switched()
    await letPass(before, 8)
    expect((await refresh(before)).refreshToken).toBe(after)
    await expect(refresh(after)).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('ends the whole family when used later', async () => {
    const { id, before, after } = await switched()
    await letPass(before, 11)
    await expect(refresh(before)).rejects.toMatchObject(refused)
    await expect(refresh(after)).rejects.toMatchObject(refused)
    const session = world.db.selectFrom('session').select('ended_at').where('id', '=', id)
    expect((await session.executeTakeFirstOrThrow()).ended_at).not.toBeNull()
  })

  it('signs the family out', async () => {
    const { before, after } = await switched()
    await createAppClient(world.api.url).call('POST', '/auth/logout', { body: { refreshToken: before } })
    await expect(refresh(after)).rejects.toMatchObject(refused)
  })

  it('used during the switch leads to one token that continues', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { client, tokens } = await givenAccount(world)
      const { id, workspace_id } = await sessionOf(tokens)
      const [other, own] = await Promise.all([
        client.call<Tokens>('POST', `/users/workspaces/${workspace_id}/switch`).then(({ data }) => data),
        refresh(tokens.refreshToken),
      ])
      const rows = world.db.selectFrom('refresh_token').select('hash').where('session_id', '=', id)
      const unspent = await rows.where('spent_at', 'is', null).execute()
      expect(unspent).toEqual([{ hash: hashRefreshToken(other.refreshToken) }])
      // The refresh was first, or got the token of the switch.
      await expect(refresh(own.refreshToken)).resolves.toMatchObject({ refreshToken: expect.any(String) })
    }
  })
})

describe('signing out', () => {
  const out = (body: object | undefined, accessToken?: string) =>
    createAppClient(world.api.url, accessToken)
      .call<{ endedSessions: number }>('POST', '/auth/logout', { ...(body && { body }) })
      .then(({ data }) => data)
  const changes = (userId: string) =>
    world.db.selectFrom('audit_entry').select('action').where('user_id', '=', userId).execute()

  it('accepts only a refresh token, as after the access token has expired', async () => {
    const { tokens, userId } = await givenAccount(world)
    expect(await out({ refreshToken: tokens.refreshToken })).toMatchObject({ endedSessions: 1 })
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
    await until('it is refused', () => isRefused(balanceWith(tokens)), { timeoutMs: 5_000 })
    expect(await changes(userId)).toEqual([{ action: 'logOut' }])
    await expect(out({ refreshToken: tokens.refreshToken })).rejects.toMatchObject(refused)
  })

  it('accepts the refresh token beside an invalid access token', async () => {
    const { tokens } = await givenAccount(world)
    expect(await out({ refreshToken: tokens.refreshToken }, 'abc.def.ghi')).toMatchObject({ endedSessions: 1 })
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
  })

  it('accepts only an access token', async () => {
    const { tokens, userId } = await givenAccount(world)
    expect(await out(undefined, tokens.accessToken)).toMatchObject({ endedSessions: 1 })
    await expect(refresh(tokens.refreshToken)).rejects.toMatchObject(refused)
    expect(await changes(userId)).toEqual([{ action: 'logOut' }])
  })

  it('ends the sessions of both tokens', async () => {
    const account = await givenAccount(world)
    const body = { email: account.email, password: account.password }
    const { data: second } = await createAppClient(world.api.url).call<SignedIn>('POST', '/auth/login', { body })
    const { refreshToken } = account.tokens
    expect(await out({ refreshToken }, second.accessToken)).toMatchObject({ endedSessions: 2 })
    for (const token of [refreshToken, second.refreshToken]) await expect(refresh(token)).rejects.toMatchObject(refused)
  })

  it.each([
    ['neither token', undefined, undefined],
    ['tokens that do not work', { refreshToken: `refresh_${'A'.repeat(43)}` }, 'abc.def.ghi'],
  ])('is rejected with %s', async (_what, body, accessToken) => {
    await expect(out(body, accessToken)).rejects.toMatchObject(refused)
  })
})

// Proxies write client addresses in various formats; an invalid one must not prevent sign-in.
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { newPassword } from '../support/app/sign-in/accounts.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'

const world = useApi({ TRUSTED_PROXY_HOPS: '1' })

type SignedIn = { readonly accessToken: string }

describe('a client behind a proxy', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:4711', null],
    ['[2001:db8::7]:4711', null],
    ['fe80::7%eth0', 'fe80::7'],
    ['unknown', null],
  ])('that is %s registers, signs in and creates a team, from %s', async (address, stored) => {
    const headers = { 'x-forwarded-for': address }
    const [email, password] = [`p-${randomBytes(6).toString('hex')}@example.com`, newPassword()]
    const open = createAppClient(world.api.url)
    await open.call('POST', '/auth/register', { body: { email, password }, headers })
    const [token] = await tokensTo(world, email, { template: 'verify-email' })
    await open.call('POST', '/auth/verify-email', { body: { token, password }, headers })
    const { data } = await open.call<SignedIn>('POST', '/auth/login', { body: { email, password }, headers })
    const client = createAppClient(world.api.url, data.accessToken)
    const team = await client.call<{ id: string }>('POST', '/teams', { body: { name: 'Made' }, headers })
    const logins = await client.call<{ items: { ipAddress: string | null }[] }>('GET', '/users/login-history')
    const log = await client.call<{ items: { ipAddress: string | null }[] }>('GET', `/teams/${team.data.id}/audit-log`)
    const seen = [...logins.data.items, ...log.data.items].map(({ ipAddress }) => ipAddress)
    expect(seen).toEqual([stored, stored, stored])
  })
})

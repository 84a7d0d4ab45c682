// Signing keys of access tokens: publication, and rotation without signing users out.
import { parseMasterKeys, unseal } from '@matte/core/runtime/seal'
import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { type AdminError, admin } from '../support/admin.ts'
import { startApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenAccount, type SignedIn } from '../support/app/sign-in/accounts.ts'

type Tokens = Omit<SignedIn, 'user'>

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`

const rotate = () =>
  admin(['signing-key', 'rotate'], { DATABASE_URL: world.databaseUrl, MASTER_KEYS: masterKeys }).then(
    (rotated) => rotated as { signing: string; waiting: string },
    ({ stderr }: AdminError) => stderr,
  )

const jwksAt = async (url: string) => {
  const response = await fetch(`${url}/api/v1/.well-known/jwks.json`)
  return { response, jwks: (await response.json()) as JSONWebKeySet }
}
const waitedLong = () =>
  world.db.updateTable('signing_key').set({ created_at: sql<Date>`created_at - interval '1 hour'` }).execute()
const refreshAt = (url: string, refreshToken: string) =>
  createAppClient(url)
    .call<Tokens>('POST', '/auth/refresh', { body: { refreshToken } })
    .then(({ data }) => data)
const balanceAt = (url: string, accessToken: string) =>
  createAppClient(url, accessToken).call('GET', '/credits/balance')

it('the JWKS has two keys without secrets, is cacheable, and verifies a token', async () => {
  const { tokens } = await givenAccount(world)
  const { response, jwks } = await jwksAt(world.api.url)
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(jwks.keys).toHaveLength(2)
  for (const key of jwks.keys) {
    expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    expect(key).toMatchObject({ alg: 'EdDSA', crv: 'Ed25519', kty: 'OKP', use: 'sig' })
  }
  const { payload } = await jwtVerify(tokens.accessToken, createLocalJWKSet(jwks), {
    ...{ issuer: world.api.config.publicUrl, audience: 'matte-app', typ: 'at+jwt' },
  })
  expect(Object.keys(payload).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'role', 'sid', 'sub', 'ws'])
})

it('a new key is not used for signing before its waiting time', async () => {
  expect(await rotate()).toMatch('the next key must be published for 10 minutes')
})

it('a rotation signs with the published key; earlier tokens are valid on all replicas, old and new', async () => {
  await waitedLong()
  const { tokens } = await givenAccount(world)
  const before = (await jwksAt(world.api.url)).jwks
  const rotated = await rotate()
  if (typeof rotated === 'string') throw new Error(rotated)
  expect(before.keys.map(({ kid }) => kid)).toContain(rotated.signing)

  // This replica has read the keys since; the other has not, and knows the key anyway.
  const fresh = await startApi({
    DATABASE_URL: world.databaseUrl,
    PUBLIC_URL: world.api.url,
    OPEN_REQUESTS_PER_MINUTE: '1000000',
  })
  try {
    const { jwks } = await jwksAt(fresh.url)
    expect(jwks.keys).toHaveLength(3)
    const next = await refreshAt(fresh.url, tokens.refreshToken)
    expect(decodeProtectedHeader(next.accessToken).kid).toBe(rotated.signing)
    expect(decodeProtectedHeader(tokens.accessToken).kid).not.toBe(rotated.signing)
    for (const { accessToken } of [tokens, next]) {
      for (const { url } of [world.api, fresh]) {
        await expect(balanceAt(url, accessToken)).resolves.toMatchObject({ status: 200 })
      }
    }
  } finally {
    await fresh.stop()
  }
  expect(await rotate()).toMatch('the next key must be published')
})

it('two concurrent rotations are one', async () => {
  await waitedLong()
  const done = await Promise.all([rotate(), rotate()])
  expect(done.filter((each) => typeof each === 'object')).toHaveLength(1)
  const { count } = await world.db
    .selectFrom('signing_key')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('active_at', 'is not', null)
    .where('retired_at', 'is', null)
    .executeTakeFirstOrThrow()
  expect(count).toBe(1)
})

it('keys and queued mails are encrypted again when the master key is replaced', async () => {
  await givenAccount(world)
  const fresh = `fresh:${Buffer.alloc(32, 9).toString('base64')}`
  const both = parseMasterKeys(`${fresh},${masterKeys}`)
  expect(await resealSecrets(world.db, both)).toMatchObject({ kept: 0 })
  const keys = await world.db.selectFrom('signing_key').select(['kid as id', 'private_sealed as sealed']).execute()
  const mails = await world.db.selectFrom('mail').select(['id', 'data_sealed as sealed']).execute()
  expect(mails.length).toBeGreaterThan(0)
  for (const { id, sealed } of [...keys, ...mails]) {
    expect(() => unseal(parseMasterKeys(fresh), id, sealed ?? '')).not.toThrow()
  }
})

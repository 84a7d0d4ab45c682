import { generateApiKey } from '@matte/core/workspace/api-key'
import { revokeApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

const world = useApi()

const routes = [
  { method: 'POST', path: '/uploads/presign', scope: 'uploads:write' },
  { method: 'POST', path: '/tasks', scope: 'tasks:write' },
  { method: 'GET', path: '/tasks', scope: 'tasks:read' },
  { method: 'GET', path: '/tasks/0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', scope: 'tasks:read' },
  { method: 'DELETE', path: '/tasks/0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', scope: 'tasks:write' },
  { method: 'GET', path: '/signing-secret', scope: 'webhooks:write' },
] as const

describe.each(routes)('$method $path', ({ method, path, scope }) => {
  const body = method === 'POST' ? '{malformed' : undefined

  it('answers API_KEY_MISSING without a key, whatever the body', async () => {
    await expect(world.api.client('').call(method, path, { body })).rejects.toMatchObject({
      status: 401,
      code: 'API_KEY_MISSING',
    })
  })

  it('answers DEVELOPER_API_ACCESS_DENIED on a plan without API access', async () => {
    const { client } = await world.caller({ plan: 'free', scopes: [] })
    const refused = { status: 403, code: 'DEVELOPER_API_ACCESS_DENIED', details: { plan: 'free' } }
    await expect(client.call(method, path, { body })).rejects.toMatchObject(refused)
  })

  it('answers API_KEY_INSUFFICIENT_SCOPE to a key with every scope but its own', async () => {
    const { client } = await world.caller({ scopes: scopes.filter((name) => name !== scope) })
    const refused = { status: 403, code: 'API_KEY_INSUFFICIENT_SCOPE', details: { required: scope } }
    await expect(client.call(method, path, { body })).rejects.toMatchObject(refused)
  })

  it('lets a key with that scope alone pass', async () => {
    const { client } = await world.caller({ scopes: [scope] })
    const answer = client.call(method, path, { body }).catch((error: { code?: string }) => error)
    await expect(answer).resolves.not.toMatchObject({ status: 403 })
  })
})

describe('an API key', () => {
  const invalid = { status: 401, code: 'API_KEY_INVALID' }
  const flip = (key: string, index: number): string =>
    key.slice(0, index) + (key[index] === 'a' ? 'b' : 'a') + key.slice(index + 1)

  it.each([
    ['of another form', 'sk_live_1234'],
    ['with a wrong checksum', flip(generateApiKey().key, 20)],
    ['that nobody has', generateApiKey().key],
    ['sent twice', `${generateApiKey().key}, ${generateApiKey().key}`],
  ])('%s is refused as API_KEY_INVALID', async (_what, key) => {
    await expect(world.api.client(key).listTasks()).rejects.toMatchObject(invalid)
  })

  it('past its end is refused as API_KEY_INVALID', async () => {
    const { client } = await world.caller({ expiresAt: new Date(Date.now() - 1_000) })
    await expect(client.listTasks()).rejects.toMatchObject(invalid)
  })

  it('is refused soon after it was revoked, though it has just been used', async () => {
    const { client, apiKeyId } = await world.caller()
    await client.listTasks()
    await revokeApiKey(world.db, apiKeyId)
    await until(
      'the revoked key is refused',
      () =>
        client.listTasks().then(
          () => false,
          () => true,
        ),
      { timeoutMs: 5_000 },
    )
    await expect(client.listTasks()).rejects.toMatchObject(invalid)
  })

  it('gets the time of its last use', async () => {
    const { client, apiKeyId } = await world.caller()
    await client.listTasks()
    const row = await until('the last use is written', () =>
      world.db
        .selectFrom('api_key')
        .select('last_used_at')
        .where('id', '=', apiKeyId)
        .where('last_used_at', 'is not', null)
        .executeTakeFirst(),
    )
    expect(row.last_used_at?.getTime()).toBeGreaterThan(Date.now() - 60_000)
  })
})

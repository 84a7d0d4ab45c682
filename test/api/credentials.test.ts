// Validity of API keys. ownership.test.ts covers the access of keys to every route.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

const world = useApi()

describe('an API key', () => {
  const invalid = { status: 401, code: 'API_KEY_INVALID' }
  const flip = (key: string, index: number): string =>
    key.slice(0, index) + (key[index] === 'a' ? 'b' : 'a') + key.slice(index + 1)

  it.each([
    ['of another form', 'sk_live_1234'],
    ['with a wrong checksum', flip(generateApiKey().key, 20)],
    ['that is unknown', generateApiKey().key],
    ['sent twice', `${generateApiKey().key}, ${generateApiKey().key}`],
  ])('%s is rejected as API_KEY_INVALID', async (_what, key) => {
    await expect(world.api.client(key).listTasks()).rejects.toMatchObject(invalid)
  })

  it('past its expiry is rejected as API_KEY_INVALID', async () => {
    const { client } = await world.caller({ expiresAt: new Date(Date.now() - 1_000) })
    await expect(client.listTasks()).rejects.toMatchObject(invalid)
  })

  it('is rejected soon after its revocation, also when just used', async () => {
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

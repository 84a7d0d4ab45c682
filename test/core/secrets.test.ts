// Secrets that must be recoverable (D17), and the signing secret of callbacks (D62).
import { randomBytes } from 'node:crypto'
import { parseMasterKeys, seal, unseal } from '@matte/core/runtime/seal'
import { createEndpoint, deleteEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { rotateEndpointSecret } from '@matte/core/webhook/endpoint/endpoint-secret'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'

const newKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`

describe('a sealed secret', () => {
  const keys = parseMasterKeys(newKey('k1'))

  it('can be decrypted for its row only and reveals nothing before', () => {
    const sealed = seal(keys, 'row-1', 'whsec_secret')
    expect(sealed).not.toContain('secret')
    expect(unseal(keys, 'row-1', sealed)).toBe('whsec_secret')
    expect(seal(keys, 'row-1', 'whsec_secret')).not.toBe(sealed)
  })

  it('cannot be decrypted when copied to another row', () => {
    expect(() => unseal(keys, 'row-2', seal(keys, 'row-1', 'secret'))).toThrow()
  })

  it.each([0, 1, 2, 3])('cannot be decrypted when part %i of it was changed', (index) => {
    const parts = seal(keys, 'row-1', 'secret').split('.')
    parts[index] = index === 0 ? 'k9' : Buffer.from(randomBytes(16)).toString('base64url')
    expect(() => unseal(keys, 'row-1', parts.join('.'))).toThrow()
  })

  it('can be decrypted with every configured key, and is encrypted with the first', () => {
    const [old, fresh] = [newKey('old'), newKey('new')]
    const sealed = seal(parseMasterKeys(old), 'row', 'secret')
    const both = parseMasterKeys(`${fresh}, ${old}`)
    expect(unseal(both, 'row', sealed)).toBe('secret')
    expect(seal(both, 'row', 'secret')).toMatch(/^new\./)
    expect(() => unseal(parseMasterKeys(fresh), 'row', sealed)).toThrow(/master key old is not configured/)
  })

  it.each(['', 'k1', 'k1:c2hvcnQ=', ':AAAA', `bad id:${randomBytes(32).toString('base64')}`])(
    'is rejected under the key list %j, with an error that contains no key',
    (text) => {
      expect(() => parseMasterKeys(text)).toThrow(/32 bytes/)
    },
  )
})

describe('the callback secret', () => {
  const database = useDatabase()
  const keys = parseMasterKeys(newKey('k1'))

  it('is created once by ten concurrent requests', async () => {
    const { id } = await givenWorkspace(database.db)
    const secrets = await Promise.all(Array.from({ length: 10 }, () => getCallbackSecret(database.db, keys, id)))
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  })

  it('differs for each workspace and is stored encrypted', async () => {
    const { db } = database
    const [one, two] = [await givenWorkspace(db), await givenWorkspace(db)]
    const secret = await getCallbackSecret(db, keys, one.id)
    expect(await getCallbackSecret(db, keys, two.id)).not.toBe(secret)
    const row = await db.selectFrom('workspace').selectAll().where('id', '=', one.id).executeTakeFirstOrThrow()
    expect(JSON.stringify(row)).not.toContain(secret.slice('whsec_'.length))
  })

  it('of a workspace that does not exist is an error', async () => {
    await expect(getCallbackSecret(database.db, keys, crypto.randomUUID())).rejects.toThrow(/does not exist/)
  })
})

describe('the secrets of a webhook endpoint', () => {
  const database = useDatabase()
  const keys = parseMasterKeys(newKey('k1'))

  it('are erased with the endpoint, the previous one of a rotation and its headers too', async () => {
    const { db } = database
    const { id: workspaceId } = await givenWorkspace(db)
    const targetUrl = 'https://receiver.example/hook'
    const url = new URL(targetUrl)
    const headers = { 'X-Token': 'a-secret-token-1234' }
    const endpoint = { workspaceId, targetUrl, url, eventTypes: [], description: null, headers }
    const { id } = await createEndpoint(db, keys, endpoint)
    await rotateEndpointSecret(db, keys, { workspaceId, id, overlapSeconds: 3_600 })
    const secrets = () =>
      db
        .selectFrom('webhook_endpoint')
        .select(['secret_sealed', 'previous_secret_sealed', 'previous_until', 'headers_sealed', 'headers_masked'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    expect(await secrets()).toEqual({
      secret_sealed: expect.stringContaining('k1.'),
      previous_secret_sealed: expect.stringContaining('k1.'),
      previous_until: expect.any(Date),
      headers_sealed: expect.stringContaining('k1.'),
      headers_masked: { 'X-Token': '••••1234' },
    })
    await deleteEndpoint(db, { workspaceId, id })
    expect(await secrets()).toEqual({
      ...{ secret_sealed: '', previous_secret_sealed: null, previous_until: null },
      ...{ headers_sealed: null, headers_masked: null },
    })
  })
})

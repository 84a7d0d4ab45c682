// Commands for the replacement of master keys and stores.
import { randomBytes } from 'node:crypto'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { readDialledEndpoint, rotateEndpointSecret } from '@matte/core/webhook/endpoint/endpoint-secret'
import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { getCallbackSecrets, rotateCallbackSecret } from '@matte/core/workspace/callback-secret'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { admin as runAdmin } from '../support/admin.ts'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { createTestBucket, newBucketName, sharedStore } from '../support/store.ts'
import { until } from '../support/until.ts'

const database = useDatabase()

const admin = (args: readonly string[], env: Record<string, string>) =>
  runAdmin(args, { DATABASE_URL: database.url, ...env })

const newKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`
const refused = (args: readonly string[], env: Record<string, string>) =>
  admin(args, env).catch(({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }))

describe('matte-admin secrets reseal', () => {
  const [old, fresh] = [newKey('old'), newKey('fresh')]
  const both = `${fresh},${old}`

  /** A callback secret, and an endpoint with a header during a rotation, encrypted under the old key. */
  async function givenSecrets() {
    const { db } = database
    const keys = parseMasterKeys(old)
    const { id: workspaceId } = await givenWorkspace(db)
    const targetUrl = 'https://receiver.example/hook'
    const wanted = { workspaceId, targetUrl, url: new URL(targetUrl), eventTypes: [], description: null }
    const { id } = await createEndpoint(db, keys, { ...wanted, headers: { 'X-Token': 'a-secret-token-1234' } })
    await rotateEndpointSecret(db, keys, { workspaceId, id, overlapSeconds: 3_600 })
    await getCallbackSecrets(db, keys, workspaceId)
    await rotateCallbackSecret(db, keys, { workspaceId, overlapSeconds: 3_600 })
    const read = async (list: string) => ({
      callback: await getCallbackSecrets(db, parseMasterKeys(list), workspaceId),
      endpoint: await readDialledEndpoint(db, parseMasterKeys(list), id),
    })
    return { before: await read(old), read }
  }

  it('makes the former key removable and changes no secret', async () => {
    const { before, read } = await givenSecrets()
    await expect(read(fresh)).rejects.toThrow(/master key old is not configured/)
    expect(await admin(['secrets', 'reseal'], { MASTER_KEYS: both })).toEqual({ resealed: 5, sealedBy: 'fresh' })
    expect(await read(fresh)).toEqual(before)
    expect(await admin(['secrets', 'reseal'], { MASTER_KEYS: both })).toEqual({ resealed: 0, sealedBy: 'fresh' })
  })

  it('reports undecryptable secrets, reseals the rest, and fails', async () => {
    const { read } = await givenSecrets()
    const other = newKey('other')
    const result = await refused(['secrets', 'reseal'], { MASTER_KEYS: `${other},${fresh}` })
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/5 were not: .*master key old is not configured/),
    })
    expect(await admin(['secrets', 'reseal'], { MASTER_KEYS: `${other},${old},${fresh}` })).toMatchObject({
      resealed: 5,
    })
    await read(other)
  })

  it('keeps secrets that are rotated meanwhile', async () => {
    const { db } = database
    const { id: workspaceId } = await givenWorkspace(db)
    const targetUrl = 'https://receiver.example/hook'
    const wanted = { workspaceId, targetUrl, url: new URL(targetUrl), eventTypes: [], description: null }
    const { id } = await createEndpoint(db, parseMasterKeys(old), wanted)
    const keys = parseMasterKeys(both)
    const [rotated, resealing] = await db.transaction().execute(async (tx) => {
      const { signingSecret } = await rotateEndpointSecret(tx, keys, { workspaceId, id, overlapSeconds: 0 })
      const begun = resealSecrets(db, keys)
      await until('it waits for the row', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length > 0
      })
      return [signingSecret, { begun }] as const
    })
    await resealing.begun
    expect((await readDialledEndpoint(db, keys, id))?.secret).toBe(rotated)
  })

  it('requires the keys', async () => {
    expect(await refused(['secrets', 'reseal'], {})).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/MASTER_KEYS/),
    })
    expect(await refused(['secrets', 'reseal'], { MASTER_KEYS: 'k1:short' })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/32 bytes/),
    })
  })
})

describe('matte-admin store copy', () => {
  it('copies missing or different objects, over more than a page, and keeps the rest', async () => {
    const [from, to] = [await createTestBucket(), await createTestBucket(sharedStore(), { name: newBucketName() })]
    const { endpoint, accessKeyId, secretAccessKey } = sharedStore()
    const env = {
      // The command needs no database: a move of the store does not depend on it.
      DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
      ...{ S3_ENDPOINT: endpoint, S3_BUCKET: from.name, S3_ACCESS_KEY_ID: accessKeyId },
      ...{ S3_SECRET_ACCESS_KEY: secretAccessKey, TO_S3_ENDPOINT: endpoint, TO_S3_BUCKET: to.name },
      ...{ TO_S3_ACCESS_KEY_ID: accessKeyId, TO_S3_SECRET_ACCESS_KEY: secretAccessKey },
    }
    const put = (bucket: typeof from, key: string, text: string) =>
      bucket.put(key, Buffer.from(text), { contentType: 'image/png' })
    const keys = Array.from({ length: 1_010 }, (_, index) => `results/${String(index).padStart(5, '0')}.png`)
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map((key) => put(from, key, key)))
    await put(to, 'other', 'is kept')
    const all = { copied: 1_010, copiedBytes: keys.join('').length, unchanged: 0 }
    expect(await admin(['store', 'copy'], env)).toEqual(all)
    await put(from, 'results/00007.png', 'another text')
    await to.delete('results/01009.png')
    expect(await admin(['store', 'copy'], env)).toEqual({ copied: 2, copiedBytes: 12 + 17, unchanged: 1_008 })
    expect(await to.keys()).toEqual(['other', ...keys])
    const [before, after] = [await from.head('results/00007.png', 100), await to.head('results/00007.png', 100)]
    expect(after).toEqual(before)
    from.close()
    to.close()
  })

  it('requires both stores and their credentials', async () => {
    expect(await refused(['store', 'copy'], {})).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/S3_ENDPOINT is not set/),
    })
    const half = await refused(['store', 'copy'], { TO_S3_ENDPOINT: 'http://127.0.0.1:1' })
    expect(half).toMatchObject({ code: 2, stderr: expect.stringMatching(/TO_S3_ACCESS_KEY_ID/) })
  })
})

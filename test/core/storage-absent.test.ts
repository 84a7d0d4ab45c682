import { openBucket } from '@matte/core/storage/bucket'
import { describe, expect, it } from 'vitest'

const png = { contentType: 'image/png' }

describe('an unreachable store', () => {
  const nowhere = () => {
    const endpoint = 'http://127.0.0.1:1'
    const keys = { accessKeyId: 'test', secretAccessKey: 'test' }
    return openBucket({
      internalEndpoint: endpoint,
      publicEndpoint: endpoint,
      bucket: 'b',
      region: 'us-east-1',
      ...keys,
    })
  }

  it('is unavailable for every operation, which may then be retried', async () => {
    const bucket = nowhere()
    const unavailable = { name: 'StorageError', kind: 'unavailable' }
    await expect(bucket.head('key', 1)).rejects.toMatchObject(unavailable)
    await expect(bucket.get('key', { maxBytes: 100 })).rejects.toMatchObject(unavailable)
    await expect(bucket.put('key', Buffer.from('pixels'), png)).rejects.toMatchObject(unavailable)
    await expect(bucket.delete('key')).rejects.toMatchObject(unavailable)
    await expect(bucket.ensure()).rejects.toMatchObject(unavailable)
    expect(await bucket.probe(5_000)).toBe(false)
    bucket.close()
  })

  it('can still presign, which needs no store', async () => {
    const { url } = await nowhere().presignPut('key', { contentType: 'image/png', expiresInSeconds: 900, sizeBytes: 1 })
    expect(url).toContain('http://127.0.0.1:1/b/key?')
  })
})

// A fresh bucket on a real store, one per test file.
import { randomBytes } from 'node:crypto'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { inject } from 'vitest'

export type StoreAccess = {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export const sharedStore = (): StoreAccess => ({
  endpoint: inject('storeEndpoint'),
  accessKeyId: inject('storeAccessKeyId'),
  secretAccessKey: inject('storeSecretAccessKey'),
})

/** Letters and digits only, so the name is valid everywhere. */
export const newBucketName = (): string => `t${randomBytes(6).toString('hex')}`

export type TestBucket = Bucket & {
  /** Every key under the prefix, sorted. */
  keys(prefix?: string): Promise<string[]>
}

/** Creates and opens a bucket; `publicEndpoint` is the host of presigned URLs, by default the store. */
export async function createTestBucket(
  store: StoreAccess = sharedStore(),
  { name = newBucketName(), publicEndpoint = store.endpoint }: { name?: string; publicEndpoint?: string } = {},
): Promise<TestBucket> {
  const { endpoint, accessKeyId, secretAccessKey } = store
  const keys = { accessKeyId, secretAccessKey }
  const bucket = openBucket({ internalEndpoint: endpoint, publicEndpoint, bucket: name, region: 'us-east-1', ...keys })
  await bucket.ensure()
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials: keys, forcePathStyle: true })
  return {
    ...bucket,
    keys: async (prefix = '') => {
      const keys: string[] = []
      let next: string | undefined
      // A store lists a thousand at once.
      do {
        const page = { Bucket: name, Prefix: prefix, ...(next !== undefined && { ContinuationToken: next }) }
        const { Contents = [], NextContinuationToken } = await client.send(new ListObjectsV2Command(page))
        keys.push(...Contents.flatMap(({ Key }) => Key ?? []))
        next = NextContinuationToken
      } while (next !== undefined)
      return keys.sort()
    },
    close: () => {
      bucket.close()
      client.destroy()
    },
  }
}

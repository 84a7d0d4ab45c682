import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import type { TestApi } from '../api.ts'

/** The store of a running API, for tests that place or read its objects. Close it. */
export const openStore = ({ config }: Pick<TestApi, 'config'>): Bucket =>
  openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3PublicEndpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
    sessionToken: config.s3SessionToken,
  })

import { ConfigError, optionalSecret, text } from '@matte/core/runtime/env'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'

/** The object store's settings, those of the service's own processes. Only `sweep` uses them, and works without. */
export const storeSchema = {
  s3Endpoint: optionalSecret('S3_ENDPOINT', { description: 'origin of the object store; without it objects are left' }),
  s3Bucket: text('S3_BUCKET', { description: 'bucket of uploads and results', default: 'matte' }),
  s3Region: text('S3_REGION', { description: 'region that requests are signed for', default: 'us-east-1' }),
  s3AccessKeyId: optionalSecret('S3_ACCESS_KEY_ID', { description: 'access key of the object store' }),
  s3SecretAccessKey: optionalSecret('S3_SECRET_ACCESS_KEY', { description: 'secret of that access key' }),
  s3SessionToken: optionalSecret('S3_SESSION_TOKEN', { description: 'of temporary credentials' }),
}

type StoreConfig = {
  readonly s3Endpoint: string | undefined
  readonly s3Bucket: string
  readonly s3Region: string
  readonly s3AccessKeyId: string | undefined
  readonly s3SecretAccessKey: string | undefined
  readonly s3SessionToken: string | undefined
}

/** Undefined without `S3_ENDPOINT`. @throws ConfigError when only some of the settings are given. */
export function storeOpener(config: StoreConfig): (() => Bucket) | undefined {
  const { s3Endpoint: endpoint, s3Bucket: bucket, s3Region: region } = config
  const { s3AccessKeyId, s3SecretAccessKey, s3SessionToken: sessionToken } = config
  if (endpoint === undefined) return undefined
  if (s3AccessKeyId === undefined || s3SecretAccessKey === undefined) {
    throw new ConfigError('S3_ENDPOINT needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY beside it')
  }
  const keys = { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey, sessionToken }
  return () => openBucket({ internalEndpoint: endpoint, publicEndpoint: endpoint, bucket, region, ...keys })
}

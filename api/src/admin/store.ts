import { ConfigError, optionalSecret, optionalText, text } from '@matte/core/runtime/env'
import type { CopyStore } from '@matte/core/storage/copy-objects'
import { storeCredentialsSetting, storeKeysOf } from '@matte/core/storage/store-settings'

/** The object store's settings, those of the service's own processes. `sweep` works without. */
export const storeSchema = {
  s3Endpoint: optionalSecret('S3_ENDPOINT', { description: 'origin of the object store; without it objects are left' }),
  s3Bucket: text('S3_BUCKET', { description: 'bucket of uploads and results', default: 'matte' }),
  s3Region: text('S3_REGION', { description: 'region that requests are signed for', default: 'us-east-1' }),
  s3Credentials: storeCredentialsSetting,
  s3AccessKeyId: optionalSecret('S3_ACCESS_KEY_ID', { description: 'access key of the object store' }),
  s3SecretAccessKey: optionalSecret('S3_SECRET_ACCESS_KEY', { description: 'secret of that access key' }),
  s3SessionToken: optionalSecret('S3_SESSION_TOKEN', { description: 'of temporary credentials' }),
}

/** Where `store copy` copies to; the rest is as for the store itself unless it is given. */
export const toStoreSchema = {
  toEndpoint: optionalSecret('TO_S3_ENDPOINT', { description: 'origin of the other store, for store copy' }),
  toBucket: optionalText('TO_S3_BUCKET', { description: 'its bucket; that of S3_BUCKET by default' }),
  toRegion: optionalText('TO_S3_REGION', { description: 'its region; that of S3_REGION by default' }),
  toAccessKeyId: optionalSecret('TO_S3_ACCESS_KEY_ID', { description: 'its access key' }),
  toSecretAccessKey: optionalSecret('TO_S3_SECRET_ACCESS_KEY', { description: 'secret of that access key' }),
  toSessionToken: optionalSecret('TO_S3_SESSION_TOKEN', { description: 'of temporary credentials' }),
}

type Optional<K extends string> = { readonly [key in K]: string | undefined }
type StoreConfig = {
  readonly s3Bucket: string
  readonly s3Region: string
  readonly s3Credentials: 'keys' | 'ambient'
} & Optional<'s3Endpoint' | 's3AccessKeyId' | 's3SecretAccessKey' | 's3SessionToken'>
type ToStoreConfig = StoreConfig &
  Optional<'toEndpoint' | 'toBucket' | 'toRegion' | 'toAccessKeyId' | 'toSecretAccessKey' | 'toSessionToken'>

/** Undefined without `S3_ENDPOINT`. @throws ConfigError when only some of the settings are given. */
export function storeOf(config: StoreConfig): CopyStore | undefined {
  const { s3Endpoint: endpoint, s3Bucket: bucket, s3Region: region } = config
  if (endpoint !== undefined && config.s3Credentials === 'ambient') {
    return { endpoint, bucket, region, ...storeKeysOf(config) }
  }
  const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3SessionToken: sessionToken } = config
  return complete({ endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken }, '')
}

/** Undefined without `TO_S3_ENDPOINT`. @throws ConfigError when only some of the settings are given. */
export function toStoreOf(config: ToStoreConfig): CopyStore | undefined {
  const { toEndpoint: endpoint, toBucket: bucket = config.s3Bucket, toRegion: region = config.s3Region } = config
  const { toAccessKeyId: accessKeyId, toSecretAccessKey: secretAccessKey, toSessionToken: sessionToken } = config
  return complete({ endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken }, 'TO_')
}

type Settings = { readonly bucket: string; readonly region: string } & Optional<
  'endpoint' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'
>

function complete(settings: Settings, prefix: string): CopyStore | undefined {
  const { endpoint, accessKeyId, secretAccessKey, ...rest } = settings
  if (endpoint === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const keys = ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'].map((name) => `${prefix}${name}`)
    throw new ConfigError(`${prefix}S3_ENDPOINT needs ${keys.join(' and ')} beside it`)
  }
  return { ...rest, endpoint, accessKeyId, secretAccessKey }
}

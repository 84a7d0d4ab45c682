import { ConfigError, optionalSecret, optionalText, text } from '@matte/core/runtime/env'
import { type CopyStore, copyObjects } from '@matte/core/storage/copy-objects'
import { storeCredentialsSetting, storeKeysOf } from '@matte/core/storage/store-settings'
import { type Command, CommandError } from './command.ts'

/** Same settings as the services. `sweep` also works without them. */
export const storeSchema = {
  s3Endpoint: optionalSecret('S3_ENDPOINT', {
    description: 'origin of the object store; without it, objects are not deleted',
  }),
  s3Bucket: text('S3_BUCKET', { description: 'bucket of uploads and results', default: 'matte' }),
  s3Region: text('S3_REGION', { description: 'region that requests are signed for', default: 'us-east-1' }),
  s3Credentials: storeCredentialsSetting,
  s3AccessKeyId: optionalSecret('S3_ACCESS_KEY_ID', { description: 'access key of the object store' }),
  s3SecretAccessKey: optionalSecret('S3_SECRET_ACCESS_KEY', { description: 'secret of that access key' }),
  s3SessionToken: optionalSecret('S3_SESSION_TOKEN', { description: 'session token of temporary credentials' }),
}

/** Target of `store copy`; absent settings default to those of the source. */
export const toStoreSchema = {
  toEndpoint: optionalSecret('TO_S3_ENDPOINT', { description: 'origin of the other store, for store copy' }),
  toBucket: optionalText('TO_S3_BUCKET', { description: 'bucket of the other store; S3_BUCKET by default' }),
  toRegion: optionalText('TO_S3_REGION', { description: 'region of the other store; S3_REGION by default' }),
  toAccessKeyId: optionalSecret('TO_S3_ACCESS_KEY_ID', { description: 'its access key' }),
  toSecretAccessKey: optionalSecret('TO_S3_SECRET_ACCESS_KEY', { description: 'secret of that access key' }),
  toSessionToken: optionalSecret('TO_S3_SESSION_TOKEN', { description: 'session token of temporary credentials' }),
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

const copy: Command = {
  name: 'store copy',
  usage: '',
  summary:
    'copy every missing or different object from the bucket of S3_* to the bucket of TO_S3_*, which must exist; ' +
    'deletes nothing',
  withoutDatabase: true,
  run: async ({ store, toStore }) => {
    const copied = await copyObjects(given(store, 'S3_ENDPOINT'), given(toStore, 'TO_S3_ENDPOINT'))
    return { ...copied }
  },
}

function given(store: CopyStore | undefined, variable: string): CopyStore {
  if (store === undefined) throw new CommandError(`${variable} is not set: name both stores`)
  return store
}

export const storeCommands: readonly Command[] = [copy]

// The setting that says where a process gets the store's keys, shared by all that use the store.
import { ConfigError, choice } from '../runtime/env.ts'
import { identityCredentials } from './credentials/identity-keys.ts'
import type { KeysOrCredentials } from './credentials/store-credentials.ts'

export const storeCredentialsSetting = choice('S3_CREDENTIALS', ['keys', 'ambient'], {
  description:
    'keys: S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY; ambient: the identity of the pod by the default chain of the ' +
    'AWS SDK, whose keys expire and are renewed',
  default: 'keys',
})

type Settings = {
  readonly s3Credentials: 'keys' | 'ambient'
  readonly s3Region: string
  readonly s3AccessKeyId: string | undefined
  readonly s3SecretAccessKey: string | undefined
  readonly s3SessionToken: string | undefined
}

/** @throws ConfigError if keys are missing, or given beside `ambient` */
export function checkStoreCredentials({ s3Credentials, s3AccessKeyId, s3SecretAccessKey }: Settings): void {
  const given = [s3AccessKeyId, s3SecretAccessKey].filter(Boolean).length
  if (s3Credentials === 'ambient' && given > 0) {
    throw new ConfigError(
      'S3_CREDENTIALS is ambient: remove S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or set it to keys',
    )
  }
  if (s3Credentials === 'keys' && given < 2) {
    throw new ConfigError(
      'S3_ACCESS_KEY_ID or S3_SECRET_ACCESS_KEY is missing: set both, or S3_CREDENTIALS to ambient for the ' +
        'identity of the pod',
    )
  }
}

/** `fetchFailed` is called for each failed fetch of the identity's keys. */
export function storeKeysOf(settings: Settings, fetchFailed?: (error: unknown) => void): KeysOrCredentials {
  const { s3Credentials, s3Region: region, s3AccessKeyId, s3SecretAccessKey, s3SessionToken: sessionToken } = settings
  if (s3Credentials === 'ambient') {
    return { credentials: identityCredentials({ region, ...(fetchFailed !== undefined && { fetchFailed }) }) }
  }
  return { accessKeyId: s3AccessKeyId ?? '', secretAccessKey: s3SecretAccessKey ?? '', sessionToken }
}

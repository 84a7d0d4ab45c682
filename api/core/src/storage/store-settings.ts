import { ConfigError, choice } from '../runtime/env.ts'
import { orAborted } from '../runtime/race.ts'
import { renewedCredentials } from './renewed-credentials.ts'
import type { KeysOrCredentials, StoreCredentials, StoreKeys } from './store-credentials.ts'

export const storeCredentialsSetting = choice('S3_CREDENTIALS', ['keys', 'ambient'], {
  description:
    'keys: S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY; ambient: the pod identity, through the default chain of the ' +
    'AWS SDK; its keys expire and are renewed',
  default: 'keys',
})

type Settings = {
  readonly s3Credentials: 'keys' | 'ambient'
  readonly s3Region: string
  readonly s3AccessKeyId: string | undefined
  readonly s3SecretAccessKey: string | undefined
  readonly s3SessionToken: string | undefined
}

/** @throws ConfigError if keys are missing, or set with `ambient` */
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

export function storeKeysOf(settings: Settings, fetchFailed?: (error: unknown) => void): KeysOrCredentials {
  const { s3Credentials, s3Region: region, s3AccessKeyId, s3SecretAccessKey, s3SessionToken: sessionToken } = settings
  if (s3Credentials === 'ambient') {
    return { credentials: identityCredentials({ region, ...(fetchFailed !== undefined && { fetchFailed }) }) }
  }
  return { accessKeyId: s3AccessKeyId ?? '', secretAccessKey: s3SecretAccessKey ?? '', sessionToken }
}

// Keys of the pod's identity from the AWS SDK's default chain: environment, web identity (IRSA, projected token),
// container endpoint (EKS Pod Identity), instance metadata. Each fetch builds a new chain, because the SDK's cache
// cannot renew early; a rotated token file is read again.

const fetchWithinMs = 5_000
const timeouts = { connectionTimeout: 1_000, requestTimeout: 3_000, socketTimeout: 3_000 }

type Options = {
  readonly region: string
  readonly fetchFailed?: (error: unknown) => void
}

export const identityCredentials = ({ region, fetchFailed = () => undefined }: Options): StoreCredentials =>
  renewedCredentials({
    fetchKeys: () => fetchIdentityKeys(region),
    nowMs: Date.now,
    random: Math.random,
    fetchFailed,
  })

/** @throws Error without tokens or keys in its message */
async function fetchIdentityKeys(region: string): Promise<StoreKeys> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  const clientConfig = { region, requestHandler: timeouts, maxAttempts: 2 }
  const chain = defaultProvider({ clientConfig, timeout: timeouts.connectionTimeout, maxRetries: 1 })
  try {
    const found = await orAborted(chain(), AbortSignal.timeout(fetchWithinMs))
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration }
  } catch (error) {
    throw new Error(`the pod identity returned no credentials: ${describe(error)}`)
  }
}

/** A token service may repeat the rejected token in its response. */
const describe = (error: unknown): string => {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return `${name}: ${message}`.replace(/[\w-]{10,}\.[\w-]{10,}\.[\w-]+/g, '[token]').slice(0, 300)
}

// Keys of the pod's identity, by the AWS SDK's default chain: environment, web identity (IRSA, or a projected token),
// container endpoint (EKS Pod Identity), instance metadata. The SDK is loaded at the first fetch. Each fetch builds a
// new chain, since the SDK's cache cannot renew early; it reads the token file again, so a rotated token is used.
import { orAborted } from '../../runtime/race.ts'
import { renewedCredentials } from './renewed-credentials.ts'
import type { StoreCredentials, StoreKeys } from './store-credentials.ts'

/** A token service that is up answers in milliseconds. */
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

/** @throws Error without tokens and keys in its message */
async function fetchIdentityKeys(region: string): Promise<StoreKeys> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  const clientConfig = { region, requestHandler: timeouts, maxAttempts: 2 }
  const chain = defaultProvider({ clientConfig, timeout: timeouts.connectionTimeout, maxRetries: 1 })
  try {
    const found = await orAborted(chain(), AbortSignal.timeout(fetchWithinMs))
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration }
  } catch (error) {
    throw new Error(`the identity of this pod gives no credentials: ${describe(error)}`)
  }
}

/** An answer of a token service may repeat the token that it refuses. */
const describe = (error: unknown): string => {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return `${name}: ${message}`.replace(/[\w-]{10,}\.[\w-]{10,}\.[\w-]+/g, '[token]').slice(0, 300)
}

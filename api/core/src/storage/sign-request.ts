// Requests signed in their headers, with the very signatures of the S3 client by the test beside this file.
import { hash } from 'node:crypto'
import { byName, type Credentials, createScopes, objectPath, signedNames } from './signature-v4.ts'

export type SignRequestOptions = Credentials & {
  /** Scheme, host and port; a path before the bucket's is kept. */
  readonly endpoint: string
  readonly bucket: string
}

export type SignRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  /** Beside Host and those of the signature; names in lower case. All are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array | string
  /** Time of the signature; signing is one of the few uses of the process's clock (D82). */
  readonly at: Date
}

export type SignedRequest = { readonly path: string; readonly headers: Readonly<Record<string, string>> }

export function createRequestSigner(options: SignRequestOptions): (request: SignRequest) => SignedRequest {
  const { bucket, sessionToken } = options
  const { host, pathname } = new URL(options.endpoint)
  const root = pathname.replace(/\/+$/, '')
  const scopeOf = createScopes(options)

  return ({ method, key, headers, payload, at }) => {
    const { time, credential, signature } = scopeOf(at)
    const payloadHash = hash('sha256', payload)
    const all = {
      ...headers,
      host,
      'x-amz-content-sha256': payloadHash,
      'x-amz-date': time,
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
    }
    const signed = Object.entries(all).sort(byName)
    const path = root + objectPath(bucket, key)
    const parts = [
      `Credential=${credential}`,
      `SignedHeaders=${signedNames(signed)}`,
      `Signature=${signature({ method, path, query: '', headers: signed, payloadHash })}`,
    ]
    return { path, headers: { ...all, authorization: `AWS4-HMAC-SHA256 ${parts.join(', ')}` } }
  }
}

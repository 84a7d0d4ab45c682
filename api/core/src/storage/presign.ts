// Presigned URLs by Signature Version 4, with the query parameters of the S3 client's own presigner and, by the test
// beside this file, equal to them byte for byte. Its general signer took 0.5 ms of CPU a link; a page of a hundred
// results needs a hundred links.
import { byName, type Credentials, createScopes, encode, objectPath, type Pair, signedNames } from './signature-v4.ts'

export type PresignOptions = Credentials & {
  /** Scheme, host and port of the URL; the host is part of what is signed. */
  readonly endpoint: string
  readonly bucket: string
}

export type PresignRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  /** 1 to 604,800, the scheme's own bound. */
  readonly expiresInSeconds: number
  /** Time of the signature; signing is one of the few uses of the process's clock (D82). */
  readonly at: Date
  /** Further query parameters. */
  readonly query?: Readonly<Record<string, string>>
  /** Headers beside Host that the request must send exactly so; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

export type Presign = (request: PresignRequest) => string

export function createPresigner(options: PresignOptions): Presign {
  const { bucket, sessionToken } = options
  const { origin, host } = new URL(options.endpoint)
  const scopeOf = createScopes(options)

  return ({ method, key, expiresInSeconds, at, query = {}, headers = {} }) => {
    const { time, credential, signature } = scopeOf(at)
    const signed = Object.entries({ ...headers, host }).sort(byName)
    const parameters = encodeEach({
      ...query,
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Content-Sha256': unsigned,
      'X-Amz-Credential': credential,
      'X-Amz-Date': time,
      'X-Amz-Expires': String(expiresInSeconds),
      'X-Amz-SignedHeaders': signedNames(signed),
      ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
      'x-id': method === 'PUT' ? 'PutObject' : 'GetObject',
    })
    const path = objectPath(bucket, key)
    const made = signature({ method, path, query: toQuery(parameters), headers: signed, payloadHash: unsigned })
    return `${origin}${path}?${toQuery([...parameters, ['X-Amz-Signature', made]])}`
  }
}

/** Who makes a link does not know the bytes that will be sent. */
const unsigned = 'UNSIGNED-PAYLOAD'

const encodeEach = (parameters: Readonly<Record<string, string>>): Pair[] =>
  Object.entries(parameters).map(([name, value]) => [encode(name), encode(value)])

const toQuery = (encoded: readonly Pair[]): string =>
  encoded
    .toSorted(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

// AWS Signature Version 4 for headers and URLs; the SDK's signer is slower (A43). The tests compare the
// results with the AWS SDK's, byte for byte.
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

export type StorePlace = {
  /** Scheme, host and port. Requests keep a path; presigned URLs drop it. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
}

type SignerOptions = StorePlace & {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** For temporary credentials: signatures expire with them. */
  readonly sessionToken?: string | undefined
}

type SignRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  /** Besides Host and the signature's headers; lower-case names. All are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array | string
  readonly at: Date
}

type SignedRequest = { readonly path: string; readonly headers: Readonly<Record<string, string>> }

export function createRequestSigner(options: SignerOptions): (request: SignRequest) => SignedRequest {
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

type PresignRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  readonly expiresInSeconds: number
  readonly at: Date
  readonly query?: Readonly<Record<string, string>>
  /** Headers that the request must send unchanged; lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
}

type Presign = (request: PresignRequest) => string

export function createPresigner(options: SignerOptions): Presign {
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

/** The signer does not know the uploaded bytes. */
const unsigned = 'UNSIGNED-PAYLOAD'

const encodeEach = (parameters: Readonly<Record<string, string>>): Pair[] =>
  Object.entries(parameters).map(([name, value]) => [encode(name), encode(value)])

const toQuery = (encoded: readonly Pair[]): string =>
  encoded
    .toSorted(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

type SignedParts = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: readonly Pair[]
  readonly payloadHash: string
}

type Pair = readonly [name: string, value: string]

const byName = ([a]: Pair, [b]: Pair): number => (a < b ? -1 : 1)

type Scope = {
  readonly time: string
  readonly credential: string
  readonly signature: (parts: SignedParts) => string
}

/** Caches the day's signing key, which takes four of the five HMACs. */
function createScopes({ region, accessKeyId, secretAccessKey }: SignerOptions): (at: Date) => Scope {
  let key: { readonly day: string; readonly secret: KeyObject } | undefined

  function signingKey(day: string): KeyObject {
    if (key?.day !== day) {
      const bytes = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
        (previous, part) => hmac(previous, part),
        Buffer.from(`AWS4${secretAccessKey}`),
      )
      // HMAC with bytes would create this object each time.
      key = { day, secret: createSecretKey(bytes) }
    }
    return key.secret
  }

  return (at) => {
    const time = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = time.slice(0, 8)
    const scope = `${day}/${region}/s3/aws4_request`
    return {
      time,
      credential: `${accessKeyId}/${scope}`,
      signature: ({ method, path, query, headers, payloadHash }) => {
        const fields = headers.map(([name, value]) => `${name}:${value.trim()}\n`).join('')
        const canonical = [method, path, query, fields, signedNames(headers), payloadHash].join('\n')
        const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
        return hmac(signingKey(day), text).toString('hex')
      },
    }
  }
}

const signedNames = (headers: readonly Pair[]): string => headers.map(([name]) => name).join(';')

const hmac = (key: Buffer | KeyObject, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Path-style address, which every store supports. */
const objectPath = (bucket: string, key: string): string => `/${bucket}/${key.split('/').map(encode).join('/')}`

/** RFC 3986: also encodes the five characters that encodeURIComponent keeps. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

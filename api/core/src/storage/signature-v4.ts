// Signature Version 4, in headers and in URLs. The tests beside this file compare each with what the AWS SDK signs,
// byte for byte.
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

export type StorePlace = {
  /** Scheme, host and port. A path is kept before the bucket's in requests, and left out of presigned URLs. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
}

type SignerOptions = StorePlace & {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials: what is signed then dies with them. */
  readonly sessionToken?: string | undefined
}

type SignRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  /** Beside Host and those of the signature; names in lower case. All are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array | string
  /** Time of the signature; signing is one of the few uses of the process's clock (D82). */
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
  /** 1 to 604,800, the scheme's own bound. */
  readonly expiresInSeconds: number
  /** Time of the signature; signing is one of the few uses of the process's clock (D82). */
  readonly at: Date
  /** Further query parameters. */
  readonly query?: Readonly<Record<string, string>>
  /** Headers beside Host that the request must send exactly so; names in lower case. */
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

/** Who makes a link does not know the bytes that will be sent. */
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
  /** Encoded, as `objectPath` makes it. */
  readonly path: string
  /** Encoded and in order; empty without. */
  readonly query: string
  /** Pairs in the order of their names, which are in lower case. */
  readonly headers: readonly Pair[]
  readonly payloadHash: string
}

type Pair = readonly [name: string, value: string]

const byName = ([a]: Pair, [b]: Pair): number => (a < b ? -1 : 1)

/** When and for what something is signed. `time`: `20261121T044815Z`. */
type Scope = {
  readonly time: string
  readonly credential: string
  readonly signature: (parts: SignedParts) => string
}

/** Answers the scope of a moment. The key of a day, which takes four of the five HMACs, is kept. */
function createScopes({ region, accessKeyId, secretAccessKey }: SignerOptions): (at: Date) => Scope {
  let key: { readonly day: string; readonly secret: KeyObject } | undefined

  function signingKey(day: string): KeyObject {
    if (key?.day !== day) {
      const bytes = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
        (previous, part) => hmac(previous, part),
        Buffer.from(`AWS4${secretAccessKey}`),
      )
      // An HMAC keyed by bytes would first make this object.
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

/** The bucket in the path, as every store understands it. */
const objectPath = (bucket: string, key: string): string => `/${bucket}/${key.split('/').map(encode).join('/')}`

/** RFC 3986: the five that JavaScript leaves alone are encoded as well. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

// Presigned URLs by Signature Version 4, with the query parameters of the S3 client's own presigner and, by the test
// beside this file, equal to them byte for byte. Its general signer took 0.5 ms of CPU a link; a page of a hundred
// results needs a hundred links.
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

export type PresignOptions = {
  /** Scheme, host and port of the URL; the host is part of what is signed. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials: a URL then dies with them. */
  readonly sessionToken?: string | undefined
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
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken } = options
  const { origin, host } = new URL(endpoint)
  let key: { readonly day: string; readonly secret: KeyObject } | undefined

  /** The signing key of a day, which takes four of the five HMACs. An HMAC keyed by bytes would first make this object. */
  function signingKey(day: string): KeyObject {
    if (key?.day !== day) {
      const bytes = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
        (previous, part) => hmac(previous, part),
        Buffer.from(`AWS4${secretAccessKey}`),
      )
      key = { day, secret: createSecretKey(bytes) }
    }
    return key.secret
  }

  return ({ method, key: objectKey, expiresInSeconds, at, query = {}, headers = {} }) => {
    const time = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = time.slice(0, 8)
    const scope = `${day}/${region}/s3/aws4_request`
    const signed = Object.entries({ ...headers, host }).sort(byName)
    const names = signed.map(([name]) => name).join(';')
    const parameters = encodeEach({
      ...query,
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
      'X-Amz-Credential': `${accessKeyId}/${scope}`,
      'X-Amz-Date': time,
      'X-Amz-Expires': String(expiresInSeconds),
      'X-Amz-SignedHeaders': names,
      ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
      'x-id': method === 'PUT' ? 'PutObject' : 'GetObject',
    })
    const path = `/${bucket}/${objectKey.split('/').map(encode).join('/')}`
    const fields = signed.map(([name, value]) => `${name}:${value.trim()}\n`).join('')
    const canonical = [method, path, toQuery(parameters), fields, names, 'UNSIGNED-PAYLOAD'].join('\n')
    const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
    const signature = hmac(signingKey(day), text).toString('hex')
    return `${origin}${path}?${toQuery([...parameters, ['X-Amz-Signature', signature]])}`
  }
}

const hmac = (key: Buffer | KeyObject, text: string): Buffer => createHmac('sha256', key).update(text).digest()

type Pair = readonly [name: string, value: string]

const byName = ([a]: Pair, [b]: Pair): number => (a < b ? -1 : 1)

const encodeEach = (parameters: Readonly<Record<string, string>>): Pair[] =>
  Object.entries(parameters).map(([name, value]) => [encode(name), encode(value)])

const toQuery = (encoded: readonly Pair[]): string =>
  encoded
    .toSorted(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

/** RFC 3986: the five that JavaScript leaves alone are encoded as well. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

// What Signature Version 4 is made of, wherever it is put: into a URL (presign.ts) or into headers (sign-request.ts).
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

export type Credentials = {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials: what is signed then dies with them. */
  readonly sessionToken?: string | undefined
}

export type SignedParts = {
  readonly method: string
  /** Encoded, as `objectPath` makes it. */
  readonly path: string
  /** Encoded and in order; empty without. */
  readonly query: string
  /** Pairs in the order of their names, which are in lower case. */
  readonly headers: readonly Pair[]
  readonly payloadHash: string
}

export type Pair = readonly [name: string, value: string]

export const byName = ([a]: Pair, [b]: Pair): number => (a < b ? -1 : 1)

/** When and for what something is signed. `time`: `20261121T044815Z`. */
export type Scope = {
  readonly time: string
  readonly credential: string
  readonly signature: (parts: SignedParts) => string
}

/** Answers the scope of a moment. The key of a day, which takes four of the five HMACs, is kept. */
export function createScopes({ region, accessKeyId, secretAccessKey }: Credentials): (at: Date) => Scope {
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

export const signedNames = (headers: readonly Pair[]): string => headers.map(([name]) => name).join(';')

const hmac = (key: Buffer | KeyObject, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The bucket in the path, as every store understands it. */
export const objectPath = (bucket: string, key: string): string => `/${bucket}/${key.split('/').map(encode).join('/')}`

/** RFC 3986: the five that JavaScript leaves alone are encoded as well. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

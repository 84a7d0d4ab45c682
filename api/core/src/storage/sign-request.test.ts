import { S3Client } from '@aws-sdk/client-s3'
import { describe, expect, it } from 'vitest'
import { createRequestSigner } from './signature-v4.ts'

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const store = { bucket: 'matte', region: 'eu-central-1', ...keys }

describe('createRequestSigner', () => {
  const hostname = 'store.example.com'
  const at = new Date('2026-11-21T04:48:15.123Z')
  const sign = createRequestSigner({ ...store, endpoint: `http://${hostname}` })
  const theirClient = (credentials: typeof keys & { sessionToken?: string }) =>
    new S3Client({ endpoint: `http://${hostname}`, region: store.region, credentials })
  const theirs = theirClient(keys)

  /** Authorization that the S3 client's signer computes for the same path, headers and body. */
  async function authorizationOf(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: Uint8Array,
    from = theirs,
  ) {
    const signer = await from.config.signer()
    const request = { method, protocol: 'http:', hostname, path, query: {}, headers, body }
    const signed = await signer.sign(request, { signingDate: at })
    return (signed as typeof request).headers.authorization
  }

  it.each(['a.png', 'results/2026/x-my_cat~1.0.png', "strange/key with (brackets)*!'+&=?.jpg", 'ü/漢字.webp'])(
    'signs a GET of %s with conditions as the S3 client does',
    async (key) => {
      const conditions = { 'if-match': '"abc"', range: 'bytes=0-99' }
      const { path, headers } = sign({ method: 'GET', key, headers: conditions, payload: '', at })
      expect(headers.authorization).toBe(await authorizationOf('GET', path, { host: hostname, ...conditions }))
    },
  )

  it('signs a PUT with its bytes and content type as the S3 client does', async () => {
    const body = Uint8Array.from({ length: 1_000 }, (_, i) => i)
    const kind = { 'content-type': 'image/png', 'content-length': '1000' }
    const { path, headers } = sign({ method: 'PUT', key: 'a b.png', headers: kind, payload: body, at })
    expect(headers.authorization).toBe(await authorizationOf('PUT', path, { host: hostname, ...kind }, body))
  })

  it('signs with temporary credentials as the S3 client does', async () => {
    const sessionToken = 'FwoGZXIvYXdzEBYaDGV/+=='
    const signTemporary = createRequestSigner({ ...store, sessionToken, endpoint: `http://${hostname}` })
    const { path, headers } = signTemporary({ method: 'GET', key: 'a.png', headers: {}, payload: '', at })
    const from = theirClient({ ...keys, sessionToken })
    expect(headers.authorization).toBe(await authorizationOf('GET', path, { host: hostname }, undefined, from))
    expect(headers['x-amz-security-token']).toBe(sessionToken)
  })

  it('keeps the path of an endpoint', () => {
    const signBelow = createRequestSigner({ ...store, endpoint: `http://${hostname}/s3/` })
    expect(signBelow({ method: 'GET', key: 'a', headers: {}, payload: '', at }).path).toBe('/s3/matte/a')
  })

  it('derives a new signing key each day', () => {
    const signatureOn = (day: string) =>
      sign({ method: 'GET', key: 'a', headers: {}, payload: '', at: new Date(day) }).headers.authorization
    const other = createRequestSigner({ ...store, endpoint: `http://${hostname}` })
    const first = signatureOn('2026-11-21T23:59:59Z')
    expect(signatureOn('2026-11-22T00:00:00Z')).not.toBe(first)
    expect(
      other({ method: 'GET', key: 'a', headers: {}, payload: '', at: new Date('2026-11-21T23:59:59Z') }).headers,
    ).toMatchObject({ authorization: first })
  })
})

import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { describe, expect, it } from 'vitest'
import { createPresigner } from './signature-v4.ts'

const options = {
  endpoint: 'https://matte.example.com:8443',
  bucket: 'matte',
  region: 'eu-central-1',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
const client = new S3Client({
  endpoint: options.endpoint,
  region: options.region,
  credentials: options,
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
})
const presign = createPresigner(options)
const at = new Date('2026-11-21T04:48:15.123Z')

const keys = [
  'a.png',
  'private-uploads/2026/11/x-my_cat~1.0.png',
  "strange/key with (brackets)*!'+&=?.jpg",
  'ü/漢字.webp',
]

describe('createPresigner', () => {
  it.each(keys)('signs a GET of %s as the S3 client does', async (Key) => {
    const command = new GetObjectCommand({
      Bucket: options.bucket,
      Key,
      ResponseContentType: 'image/png',
      ResponseContentDisposition: `attachment; filename="a b.png"`,
    })
    const theirs = await getSignedUrl(client, command, { expiresIn: 604_800, signingDate: at })
    const ours = presign({
      method: 'GET',
      key: Key,
      expiresInSeconds: 604_800,
      at,
      query: { 'response-content-type': 'image/png', 'response-content-disposition': `attachment; filename="a b.png"` },
    })
    expect(sorted(ours)).toEqual(sorted(theirs))
  })

  it.each(keys)('signs a PUT of %s with its content type as the S3 client does', async (Key) => {
    const command = new PutObjectCommand({ Bucket: options.bucket, Key, ContentType: 'image/jpeg' })
    const signableHeaders = new Set(['content-type', 'host'])
    const theirs = await getSignedUrl(client, command, { expiresIn: 900, signingDate: at, signableHeaders })
    const headers = { 'content-type': 'image/jpeg' }
    const ours = presign({ method: 'PUT', key: Key, expiresInSeconds: 900, at, headers })
    expect(sorted(ours)).toEqual(sorted(theirs))
  })

  it('signs a PUT of a fixed length as the S3 client does', async () => {
    const command = new PutObjectCommand({
      Bucket: options.bucket,
      Key: 'a.png',
      ContentType: 'image/png',
      ContentLength: 1_234,
    })
    const signableHeaders = new Set(['content-type', 'content-length', 'host'])
    const theirs = await getSignedUrl(client, command, { expiresIn: 900, signingDate: at, signableHeaders })
    const headers = { 'content-type': 'image/png', 'content-length': '1234' }
    const ours = presign({ method: 'PUT', key: 'a.png', expiresInSeconds: 900, at, headers })
    expect(sorted(ours)).toEqual(sorted(theirs))
  })

  it('signs with temporary credentials as the S3 client does', async () => {
    const sessionToken = 'FwoGZXIvYXdzEBYaDGV/+=='
    const theirClient = new S3Client({
      endpoint: options.endpoint,
      region: options.region,
      credentials: { ...options, sessionToken },
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
    })
    const command = new PutObjectCommand({ Bucket: options.bucket, Key: 'a.png', ContentType: 'image/png' })
    const signableHeaders = new Set(['content-type', 'host'])
    const theirs = await getSignedUrl(theirClient, command, { expiresIn: 900, signingDate: at, signableHeaders })
    const headers = { 'content-type': 'image/png' }
    const ours = createPresigner({ ...options, sessionToken })({
      method: 'PUT',
      key: 'a.png',
      expiresInSeconds: 900,
      at,
      headers,
    })
    expect(sorted(ours)).toEqual(sorted(theirs))
  })

  it('derives a new signing key each day', () => {
    const other = createPresigner(options)
    const tomorrow = new Date('2026-11-22T00:00:00Z')
    presign({ method: 'GET', key: 'a', expiresInSeconds: 1, at })
    expect(presign({ method: 'GET', key: 'a', expiresInSeconds: 1, at: tomorrow })).toBe(
      other({ method: 'GET', key: 'a', expiresInSeconds: 1, at: tomorrow }),
    )
  })
})

/** The path and the sorted query parameters. */
const sorted = (url: string): string[] => {
  const [path = '', query = ''] = url.split('?')
  return [path, ...query.split('&').sort()]
}

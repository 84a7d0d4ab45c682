// From one bucket to another, on two stores or one: a move, or a copy to keep. What is there already is not sent again,
// so a second pass after a long first one is short.
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { eachAtOnce } from '../runtime/each-at-once.ts'
import type { KeysOrCredentials } from './credentials/store-credentials.ts'
import { newClient } from './sdk-operations.ts'
import type { StorePlace } from './signature-v4.ts'

type Side = { readonly client: S3Client; readonly bucket: string }
type Listed = { readonly key: string; readonly sizeBytes: number; readonly etag: string }
type Copied = { readonly copied: number; readonly copiedBytes: number; readonly unchanged: number }

/** An object is held whole while it is copied: 21 MiB at most, times this. */
const atOnce = 8

/** Copies every object whose size or ETag is another there, or which is not there. Nothing is deleted. */
export type CopyStore = StorePlace & KeysOrCredentials

export async function copyObjects(from: CopyStore, to: CopyStore): Promise<Copied> {
  const source = { client: newClient(from), bucket: from.bucket }
  const target = { client: newClient(to), bucket: to.bucket }
  const sum = { copied: 0, copiedBytes: 0, unchanged: 0 }
  try {
    let after: string | undefined
    for (;;) {
      const page = await listAfter(source, after)
      const last = page.at(-1)?.key
      if (last === undefined) return sum
      const there = await listUntil(target, { after, last })
      const missing = page.filter(({ key, sizeBytes, etag }) => there.get(key) !== identity(sizeBytes, etag))
      sum.unchanged += page.length - missing.length
      await eachAtOnce(atOnce, missing, async ({ key }) => {
        const bytes = await copyOne(source, target, key)
        sum.copiedBytes += bytes
        sum.copied++
      })
      after = last
    }
  } finally {
    source.client.destroy()
    target.client.destroy()
  }
}

const identity = (sizeBytes: number, etag: string): string => `${sizeBytes} ${etag}`

async function listAfter({ client, bucket }: Side, after: string | undefined): Promise<readonly Listed[]> {
  const input = { Bucket: bucket, ...(after !== undefined && { StartAfter: after }) }
  const { Contents = [] } = await client.send(new ListObjectsV2Command(input))
  return Contents.flatMap(({ Key: key, Size = 0, ETag = '' }) => (key ? { key, sizeBytes: Size, etag: ETag } : []))
}

/** Of the target the same range, which may hold more than one page of the source. */
async function listUntil(target: Side, { after, last }: { after: string | undefined; last: string }) {
  const found = new Map<string, string>()
  for (let from = after; ; ) {
    const page = await listAfter(target, from)
    for (const { key, sizeBytes, etag } of page) found.set(key, identity(sizeBytes, etag))
    from = page.at(-1)?.key
    if (from === undefined || from >= last) return found
  }
}

/** Its size. An object that is gone by now is none: retention has deleted it. */
async function copyOne(source: Side, target: Side, key: string): Promise<number> {
  const object = await source.client
    .send(new GetObjectCommand({ Bucket: source.bucket, Key: key }))
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'NoSuchKey') return undefined
      throw error
    })
  const body = await object?.Body?.transformToByteArray()
  if (body === undefined) return 0
  const kind = object?.ContentType === undefined ? {} : { ContentType: object.ContentType }
  await target.client.send(new PutObjectCommand({ Bucket: target.bucket, Key: key, Body: body, ...kind }))
  return body.length
}

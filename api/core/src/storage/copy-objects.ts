// Copies objects between buckets, on one store or two. Unchanged objects are skipped, so a second pass is short.
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { eachAtOnce } from '../runtime/each-at-once.ts'
import { newClient } from './sdk-operations.ts'
import type { StorePlace } from './signature-v4.ts'
import type { KeysOrCredentials } from './store-credentials.ts'

type Side = { readonly client: S3Client; readonly bucket: string }
type Listed = { readonly key: string; readonly sizeBytes: number; readonly etag: string }
type Copied = { readonly copied: number; readonly copiedBytes: number; readonly unchanged: number }

/** Objects in memory at once, up to 21 MiB each. */
const atOnce = 8

export type CopyStore = StorePlace & KeysOrCredentials

/** Copies missing objects, and those that differ in size or ETag. Deletes nothing. */
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

/** Lists the same key range of the target, which may need several pages. */
async function listUntil(target: Side, { after, last }: { after: string | undefined; last: string }) {
  const found = new Map<string, string>()
  for (let from = after; ; ) {
    const page = await listAfter(target, from)
    for (const { key, sizeBytes, etag } of page) found.set(key, identity(sizeBytes, etag))
    from = page.at(-1)?.key
    if (from === undefined || from >= last) return found
  }
}

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

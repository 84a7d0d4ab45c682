// In-memory object store for tests about the database. It passes the conformance tests of real stores, except for
// presigned URLs, which no server serves here.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Bucket } from '@matte/core/storage/bucket'
import { StorageError } from '@matte/core/storage/storage-error'

export function memoryBucket(): Bucket {
  const objects = new Map<string, Buffer>()
  const find = (key: string): Buffer => {
    const body = objects.get(key)
    if (body === undefined) throw new StorageError('missing', 'object not found')
    return body
  }
  const signsNothing = (): never => {
    throw new Error('the memory bucket signs nothing')
  }
  return {
    name: 'memory',
    head: async (key, firstBytes) => {
      const body = find(key)
      return { etag: etagOf(body), sizeBytes: body.length, bytes: body.subarray(0, firstBytes) }
    },
    get: async (key, { etag, maxBytes }) => {
      const body = find(key)
      if (etag !== undefined && etag !== etagOf(body)) throw new StorageError('changed', 'object has another ETag')
      if (body.length > maxBytes) throw new StorageError('changed', 'object is larger than when it was accepted')
      return Buffer.from(body)
    },
    open: async (key, { headOnly = false, range, ifNoneMatch } = {}) => {
      const body = find(key)
      if (ifNoneMatch === etagOf(body)) {
        return { etag: etagOf(body), lengthBytes: 0, contentRange: undefined, unchanged: true, body: undefined }
      }
      const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
      const end = Math.min(body.length - 1, last === '' ? Infinity : Number(last))
      if (range !== undefined && Number(first) > end) throw new StorageError('range', 'object has no such range')
      const part = range === undefined ? body : body.subarray(Number(first), end + 1)
      return {
        etag: etagOf(body),
        lengthBytes: part.length,
        contentRange: range === undefined ? undefined : `bytes ${first}-${end}/${body.length}`,
        unchanged: false,
        body: headOnly ? undefined : Readable.from([part]),
      }
    },
    put: async (key, body) => void objects.set(key, Buffer.from(body)),
    delete: async (key) => void objects.delete(key),
    list: async (prefix) => [...objects.keys()].filter((key) => key.startsWith(prefix)),
    presignPut: signsNothing,
    presignOwnPut: signsNothing,
    signsPut: async () => false,
    presignGet: signsNothing,
    probe: async () => true,
    ensure: async () => undefined,
    close: () => undefined,
  }
}

const etagOf = (body: Buffer): string => `"${createHash('md5').update(body).digest('hex')}"`

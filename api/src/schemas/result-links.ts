// Download links for results: presigned by the store, or signed by this process when the store's credentials are
// temporary. Each read signs a new link, valid for 7 days.
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Bucket } from '@matte/core/storage/bucket'
import { fileLinkSigner } from '@matte/core/storage/file-link'
import { resultFileName, uploadFileName } from '@matte/core/storage/object-key'
import { shownResultKey, type TaskRow } from '@matte/core/task/task-queries'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'
import type { FastifyRequest } from 'fastify'
import { holderOf } from '../auth/link-holders.ts'

type StoredResult = Pick<TaskRow, 'id' | 'result_key' | 'result_format' | 'erased_at' | 'charge'>

export type ResultLinks = {
  urlOf(task: StoredResult): string | null
  /** Null: this process serves results only, not photos. */
  inputUrlOf(key: string, expiresInSeconds: number): string | null
}

/** Links for a caller. */
export type LinksFor = (caller: FastifyRequest['caller']) => ResultLinks

/** 7 days: the interface's promise and the maximum of a presigned URL. */
const resultUrlSeconds = 7 * 24 * 60 * 60

/** The store serves these links for 7 days, whatever becomes of the caller. */
export const presignedLinks = (bucket: Bucket): ResultLinks => ({
  urlOf: (task) => {
    const { id, result_format: format } = task
    const key = shownResultKey(task)
    if (key === null || format === null) return null
    return bucket.presignGet(key, {
      contentType: mimeTypes[format as OutputFormat],
      fileName: resultFileName(id, format as OutputFormat),
      expiresInSeconds: resultUrlSeconds,
    })
  },
  inputUrlOf: (key, expiresInSeconds) => {
    const fileName = uploadFileName(key)
    return bucket.presignGet(key, { contentType: typeByName(fileName), fileName, expiresInSeconds })
  },
})

/** Browsers show an image by its bytes, as long as its type is that of an image. */
function typeByName(fileName: string): string {
  if (/\.jpe?g$/i.test(fileName)) return mimeTypes.jpeg
  return /\.webp$/i.test(fileName) ? mimeTypes.webp : mimeTypes.png
}

/** These links end when the key or the member that got them loses access (files.ts). */
export function gatewayLinks(publicUrl: string, keys: MasterKeys): LinksFor {
  const { sign } = fileLinkSigner(keys)
  return (caller) => ({
    urlOf: (task) => {
      const key = shownResultKey(task)
      if (key === null) return null
      const expires = Math.floor(Date.now() / 1_000) + resultUrlSeconds
      return `${publicUrl}/files/${sign(key, { expires, holder: holderOf(caller) })}`
    },
    inputUrlOf: () => null,
  })
}

/** The link with the earliest time that it can expire. */
export function timedLink(task: StoredResult, links: ResultLinks): { url: string; expiresAt: Date } | null {
  // Read before signing, which uses whole seconds.
  const signedAt = Math.floor(Date.now() / 1_000)
  const url = links.urlOf(task)
  return url === null ? null : { url, expiresAt: new Date((signedAt + resultUrlSeconds) * 1_000) }
}

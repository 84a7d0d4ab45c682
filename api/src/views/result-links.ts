// How a caller downloads a result (D37). Presigned by the store where its credentials live as long as the links do;
// with temporary ones a link dies with them, and the gateway's own links (routes/files.ts) replace them. Either
// way a link is signed afresh on each read, for the public host, and lives for 7 days.
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Bucket } from '@matte/core/storage/bucket'
import { fileLinkSigner } from '@matte/core/storage/file-link'
import { resultFileName } from '@matte/core/storage/result-key'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'

type StoredResult = {
  readonly id: string
  readonly result_key: string | null
  readonly result_format: string | null
}

export type ResultLinks = {
  /** Null while there is no result. */
  urlOf(task: StoredResult): string | null
}

/** Seconds that a result URL lives: the interface's 7 days, which is also the most that a presigned one can have. */
const resultUrlSeconds = 7 * 24 * 60 * 60

export const presignedLinks = (bucket: Bucket): ResultLinks => ({
  urlOf: ({ id, result_key: key, result_format: format }) =>
    key === null || format === null
      ? null
      : bucket.presignGet(key, {
          contentType: mimeTypes[format as OutputFormat],
          fileName: resultFileName(id, format as OutputFormat),
          expiresInSeconds: resultUrlSeconds,
        }),
})

export function gatewayLinks(publicUrl: string, keys: MasterKeys): ResultLinks {
  const { sign } = fileLinkSigner(keys)
  return {
    urlOf: ({ result_key: key }) => {
      if (key === null) return null
      return `${publicUrl}/files/${sign(key, Math.floor(Date.now() / 1_000) + resultUrlSeconds)}`
    },
  }
}

/** The link of a result, and until when it lives at least. Null while there is no result. */
export function timedLink(task: StoredResult, links: ResultLinks): { url: string; expiresAt: Date } | null {
  // Before the signature is made, which states whole seconds.
  const signedAt = Math.floor(Date.now() / 1_000)
  const url = links.urlOf(task)
  return url === null ? null : { url, expiresAt: new Date((signedAt + resultUrlSeconds) * 1_000) }
}

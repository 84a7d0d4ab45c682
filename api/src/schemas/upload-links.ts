import type { MasterKeys } from '@matte/core/runtime/seal'
import { uploadLinkSigner } from '@matte/core/storage/upload-link'
import type { GrantDeps } from '@matte/core/upload/create-grant'

/** URLs that upload through this process (gateway.ts). */
export function uploadLinks(publicUrl: string, keys: MasterKeys): GrantDeps['uploadLinkOf'] {
  const { sign } = uploadLinkSigner(keys)
  return (link, expiresInSeconds) =>
    `${publicUrl}/files/${sign(link, Math.floor(Date.now() / 1_000) + expiresInSeconds)}`
}

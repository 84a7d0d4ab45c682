// Links to results served by the gateway: `<object key>?expires=…&key=…&signature=…`.
import type { MasterKeys } from '../runtime/seal.ts'
import { type LinkQuery, type LinkVerdict, linkPath, linkSigner } from './link-signature.ts'

type FileLinkSigner = {
  sign(objectKey: string, expires: number): string
  /** Verifies the signature in constant time, and the expiry. */
  verify(objectKey: string, query: LinkQuery, nowSeconds: number): LinkVerdict
}

export function fileLinkSigner(masterKeys: MasterKeys): FileLinkSigner {
  const { sign, verify } = linkSigner(masterKeys, 'matte file links')
  return {
    sign: (objectKey, expires) => `${linkPath(objectKey)}?${new URLSearchParams(sign(objectKey, expires))}`,
    verify,
  }
}

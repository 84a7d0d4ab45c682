// Links to results served by the gateway: `<object key>?for=…&expires=…&key=…&signature=…`. The holder is the API key
// or member that got the link; the link ends with its access.
import type { MasterKeys } from '../runtime/seal.ts'
import { type LinkQuery, linkPath, linkSigner } from './link-signature.ts'

export type FileLinkQuery = LinkQuery & { readonly for?: unknown }

/** `expires`: seconds since the Unix epoch. `holder`: without a line break. */
type Signed = { readonly expires: number; readonly holder: string }

type Verdict = { readonly holder: string } | 'expired' | 'forged'

type FileLinkSigner = {
  sign(objectKey: string, signed: Signed): string
  /** Verifies the signature in constant time, and the expiry; the caller checks the holder. */
  verify(objectKey: string, query: FileLinkQuery, nowSeconds: number): Verdict
}

export function fileLinkSigner(masterKeys: MasterKeys): FileLinkSigner {
  const { sign, verify } = linkSigner(masterKeys, 'matte file links')
  return {
    sign: (objectKey, { expires, holder }) => {
      const query = { for: holder, ...sign(textOf(objectKey, holder), expires) }
      return `${linkPath(objectKey)}?${new URLSearchParams(query)}`
    },
    verify: (objectKey, query, nowSeconds) => {
      const { for: holder } = query
      if (typeof holder !== 'string') return 'forged'
      const verdict = verify(textOf(objectKey, holder), query, nowSeconds)
      return verdict === 'valid' ? { holder } : verdict
    },
  }
}

/** A holder and a key contain no line break, so the text is unambiguous. */
const textOf = (objectKey: string, holder: string): string => `${holder}\n${objectKey}`

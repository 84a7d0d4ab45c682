// Links that upload one object through the API: `<object key>?maxBytes=…&expires=…&key=…&signature=…`. A store cannot
// verify them, so their holder cannot pass by the API, which counts the bytes.
import type { MasterKeys } from '../runtime/seal.ts'
import { type LinkQuery, type LinkVerdict, linkPath, linkSigner } from './link-signature.ts'

export type UploadLink = {
  readonly objectKey: string
  /** The PUT must send it unchanged. */
  readonly contentType: string
  readonly maxBytes: number
}

export type UploadLinkQuery = LinkQuery & { readonly maxBytes?: unknown }

type UploadLinkSigner = {
  sign(link: UploadLink, expires: number): string
  /** `maxBytes` counts only with the verdict `valid`. */
  verify(
    put: Omit<UploadLink, 'maxBytes'>,
    query: UploadLinkQuery,
    nowSeconds: number,
  ): { readonly verdict: LinkVerdict; readonly maxBytes: number }
}

export function uploadLinkSigner(masterKeys: MasterKeys): UploadLinkSigner {
  const { sign, verify } = linkSigner(masterKeys, 'matte upload links')
  return {
    sign: (link, expires) => {
      const query = { maxBytes: String(link.maxBytes), ...sign(textOf(link), expires) }
      return `${linkPath(link.objectKey)}?${new URLSearchParams(query)}`
    },
    verify: (put, query, nowSeconds) => {
      const maxBytes = Number(query.maxBytes)
      return { verdict: verify(textOf({ ...put, maxBytes }), query, nowSeconds), maxBytes }
    },
  }
}

/** A number, a type and a key contain no line break, so the text is unambiguous. */
const textOf = ({ maxBytes, contentType, objectKey }: UploadLink): string => `${maxBytes}\n${contentType}\n${objectKey}`

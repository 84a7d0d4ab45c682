import { move, transferableSymbol, valueSymbol } from 'piscina'
import { cutOut } from './cut-out.ts'
import type { Photo } from './decode.ts'

/** What a thread of image-pool.ts runs; the result's pixels move back instead of being copied. */
export default function run({ photo, mask }: { photo: Photo; mask: Uint8Array }) {
  const result = cutOut(photo, mask)
  return move({ [transferableSymbol]: [result.rgba.buffer], [valueSymbol]: result })
}

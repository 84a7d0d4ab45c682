import { move, transferableSymbol, valueSymbol } from 'piscina'
import { cutOut } from './cut-out.ts'
import type { Photo } from './decode.ts'

/** What a thread of image-pool.ts runs; the result's pixels move back instead of being copied. */
export default function run({ photo, mask }: { photo: Photo; mask: Uint8Array }) {
  const result = cutOut(photo, mask)
  // Gives the photo's memory back now; this thread allocates so little else that its collector might not run for minutes.
  photo.pixels.buffer.transfer(0)
  return move({ [transferableSymbol]: [result.rgba.buffer], [valueSymbol]: result })
}

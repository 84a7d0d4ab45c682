import type { Output } from '@matte/core/db/tables/task'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { applyOutput } from './apply-output.ts'
import { cutOut } from './cut-out.ts'
import type { Photo } from './decode.ts'

/** What a thread of image-pool.ts runs; the result's pixels move back instead of being copied. */
export default function run({ photo, mask, output }: { photo: Photo; mask: Uint8Array; output: Output | null }) {
  const result = cutOut(photo, mask)
  // Gives memory back now; this thread allocates so little else that its collector might not run for minutes.
  photo.pixels.buffer.transfer(0)
  const picture = applyOutput(result, output)
  if (picture.pixels !== result.rgba) result.rgba.buffer.transfer(0)
  return move({ [transferableSymbol]: [picture.pixels.buffer], [valueSymbol]: picture })
}

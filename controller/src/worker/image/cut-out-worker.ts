import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { joinMasks } from '../masks/join-masks.ts'
import { mirrorBack } from '../masks/mirror.ts'
import { applyOutput, type ResultImage } from './apply-output.ts'
import { cutOut } from './cut-out/cut-out.ts'
import type { Photo } from './decode.ts'
import type { EncodedResult } from './encode.ts'
import { encodePng } from './encode-png.ts'
import { freeBytes } from './free-bytes.ts'

export type CutOutTask = {
  readonly photo: Photo
  readonly mask: Uint8Array
  /** That of the second view (masks/mirror.ts), as the model gave it. */
  readonly mirrored?: Uint8Array | undefined
  /** Null: the cut-out as it is. */
  readonly output: Output | null
}

/** What a thread of image-pool.ts runs; file or pixels move back instead of being copied. */
export default function run({ photo, mask, mirrored, output }: CutOutTask) {
  const size = Math.sqrt(mask.length)
  if (mirrored) joinMasks(mask, mirrorBack(mirrored, size), photo)
  const result = cutOut(photo, mask)
  // This thread allocates so little else that its collector might not run for minutes.
  freeBytes(photo.pixels)
  const image = applyOutput(result, output)
  if (image.pixels !== result.rgba) freeBytes(result.rgba)
  return isPlainPng(image, output ?? defaultOutput) ? moveFile(image) : moveBack(image, image.pixels)
}

/** Other formats and sizes are the work of encode.ts, which has sharp. */
const isPlainPng = ({ width, height }: ResultImage, { format, maxSide }: Output): boolean =>
  format === 'png' && (maxSide === null || Math.max(width, height) <= maxSide)

function moveFile(image: ResultImage) {
  const { width, height, foreground } = image
  const file = encodePng(image)
  return moveBack({ file, width, height, foreground } satisfies EncodedResult, file)
}

const moveBack = (value: ResultImage | EncodedResult, bytes: Uint8Array<ArrayBuffer>) =>
  move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: value })

import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { joinMasks } from '../augmentation/join-masks.ts'
import { mirrorBack } from '../augmentation/mirror.ts'
import { applyOutput, type ResultImage } from './apply-output.ts'
import { cutOut } from './cut-out/cut-out.ts'
import type { Photo } from './cut-out/sample-cells.ts'
import type { EncodedResult } from './encode.ts'
import { encodePng } from './encode-png.ts'
import { freeBytes } from './free-bytes.ts'
import { ImageError } from './image-error.ts'
import { limitSize } from './place-subject.ts'

export type CutOutTask = {
  readonly photo: Photo
  readonly mask: Uint8Array
  /** Mask of the mirrored view. */
  readonly mirrored?: Uint8Array | undefined
  readonly output: Output | null
  /** Limit of a result that grows for its shadow. */
  readonly pixelsMax?: number | undefined
}

/** `encodeMs`: the part of the call that encoded the file. */
export type CutOutFile = EncodedResult & { readonly encodeMs: number }

/** An ImageError loses its class between threads. */
export type Refused = Pick<ImageError, 'reason' | 'message'>

/** Entry point of image-pool.ts threads; returned bytes are moved, not copied. */
export default function run(task: CutOutTask) {
  try {
    return make(task)
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    return { reason: error.reason, message: error.message } satisfies Refused
  }
}

function make({ photo, mask, mirrored, output, pixelsMax }: CutOutTask) {
  const size = Math.sqrt(mask.length)
  if (mirrored) joinMasks(mask, mirrorBack(mirrored, size), photo)
  const result = cutOut(photo, mask)
  // Freed here because this thread allocates too little to trigger a collection for minutes.
  freeBytes(photo.pixels)
  const image = applyOutput(result, output, pixelsMax)
  if (image.pixels !== result.rgba) freeBytes(result.rgba)
  return isPlainPng(image, output ?? defaultOutput) ? moveFile(image) : moveBack(image, image.pixels)
}

/** True if encode.ts has nothing to scale or to place. */
function isPlainPng({ canvas, ...image }: ResultImage, output: Output): boolean {
  const { width, height } = limitSize(image, output)
  return output.format === 'png' && canvas === undefined && width === image.width && height === image.height
}

function moveFile(image: ResultImage) {
  const { width, height, foreground } = image
  const begunAt = performance.now()
  const file = encodePng(image)
  return moveBack({ file, width, height, foreground, encodeMs: performance.now() - begunAt } satisfies CutOutFile, file)
}

const moveBack = (value: ResultImage | CutOutFile, bytes: Uint8Array<ArrayBuffer>) =>
  move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: value })

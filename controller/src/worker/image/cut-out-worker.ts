import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { joinMasks } from '../augmentation/join-masks.ts'
import { mirrorBack } from '../augmentation/mirror.ts'
import { applyOutput, type ResultImage } from './apply-output.ts'
import { measureViews } from './cut-out/confidence.ts'
import { cutOut } from './cut-out/cut-out.ts'
import type { Photo } from './cut-out/sample-cells.ts'
import type { EncodedResult } from './encode.ts'
import { encodePng } from './encode-png.ts'
import { freeBytes } from './free-bytes.ts'
import { limitSize } from './place-subject.ts'

export type CutOutTask = {
  readonly photo: Photo
  readonly mask: Uint8Array
  /** Mask of the mirrored view. */
  readonly mirrored?: Uint8Array | undefined
  readonly output: Output | null
}

/** `encodeMs`: the part of the call that encoded the file. */
export type CutOutFile = Measured & EncodedResult & { readonly encodeMs: number }

/** Undefined if the masks give no measure. */
type Measured = { readonly confidence: number | undefined }

/** Pixels that encode.ts makes a file of. */
export type CutOutImage = Measured & ResultImage

/** Entry point of image-pool.ts threads; returned bytes are moved, not copied. */
export default function run({ photo, mask, mirrored, output }: CutOutTask) {
  const size = Math.sqrt(mask.length)
  const other = mirrored && mirrorBack(mirrored, size)
  const views = measureViews(mask, other)
  if (other) joinMasks(mask, other, photo)
  const result = cutOut(photo, mask, views)
  // Freed here because this thread allocates too little to trigger a collection for minutes.
  freeBytes(photo.pixels)
  const image = applyOutput(result, output)
  if (image.pixels !== result.rgba) freeBytes(result.rgba)
  // A region may leave nothing of the subject.
  const confidence = image.foreground === null && result.confidence !== undefined ? 0 : result.confidence
  const made = { ...image, confidence }
  return isPlainPng(image, output ?? defaultOutput) ? moveFile(made) : moveBack(made, image.pixels)
}

/** True if encode.ts has nothing to scale or to place. */
function isPlainPng({ canvas, ...image }: ResultImage, output: Output): boolean {
  const { width, height } = limitSize(image, output)
  return output.format === 'png' && canvas === undefined && width === image.width && height === image.height
}

function moveFile(image: CutOutImage) {
  const { width, height, foreground, confidence } = image
  const begunAt = performance.now()
  const file = encodePng(image)
  const encodeMs = performance.now() - begunAt
  return moveBack({ file, width, height, foreground, confidence, encodeMs }, file)
}

const moveBack = (value: CutOutImage | CutOutFile, bytes: Uint8Array<ArrayBuffer>) =>
  move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: value })

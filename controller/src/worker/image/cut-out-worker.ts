import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { joinMasks } from '../augmentation/join-masks.ts'
import { mirrorBack } from '../augmentation/mirror.ts'
import { applyOutput, overlap, type ResultImage } from './apply-output.ts'
import { measureViews } from './cut-out/confidence.ts'
import { cutOut } from './cut-out/cut-out.ts'
import type { Box } from './cut-out/foreground.ts'
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
  /** Returns the photo behind the cut-out too. */
  readonly withPhoto?: boolean
}

/** `encodeMs`: the part of the call that encoded the file. */
type CutOutFile = EncodedResult & { readonly encodeMs: number }

/** The part of the photo that a cut-out shows, in RGB and at full size. */
export type PhotoBehind = { readonly pixels: Uint8Array<ArrayBuffer>; readonly width: number; readonly height: number }

export type Made = (CutOutFile | ResultImage) & {
  /** If the task wants it and the subject is in its place. */
  readonly behind?: PhotoBehind
  /** Undefined if the masks give no measure. */
  readonly confidence: number | undefined
}

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

function make({ photo, mask, mirrored, output, pixelsMax, withPhoto = false }: CutOutTask) {
  const size = Math.sqrt(mask.length)
  const other = mirrored && mirrorBack(mirrored, size)
  const views = measureViews(mask, other)
  if (other) joinMasks(mask, other, photo)
  const result = cutOut(photo, mask, views)
  const image = applyOutput(result, output, pixelsMax)
  // A subject that is scaled or moved has left its place in the photo.
  const behind = withPhoto && image.canvas === undefined ? { behind: takePhoto(photo, image.window) } : {}
  // Freed here because this thread allocates too little to trigger a collection for minutes.
  freeBytes(photo.pixels)
  if (image.pixels !== result.rgba) freeBytes(result.rgba)
  // A region may leave nothing of the subject.
  const confidence = image.foreground === null && result.confidence !== undefined ? 0 : result.confidence
  const made = isPlainPng(image, output ?? defaultOutput) ? toFile(image) : image
  return moveBack({ ...made, ...behind, confidence })
}

/** Black beyond the photo. */
function takePhoto({ pixels, channels, ...whole }: Photo, window: Box = { top: 0, left: 0, ...whole }): PhotoBehind {
  const { width, height } = window
  const taken = new Uint8Array(width * height * 3)
  const shown = overlap(window, whole)
  for (let y = shown.top; y < shown.top + shown.height; y++) {
    let from = (y * whole.width + shown.left) * channels
    let to = ((y - window.top) * width + shown.left - window.left) * 3
    for (let x = 0; x < shown.width; x++, from += channels, to += 3) {
      taken[to] = pixels[from] as number
      taken[to + 1] = pixels[from + 1] as number
      taken[to + 2] = pixels[from + 2] as number
    }
  }
  return { pixels: taken, width, height }
}

/** True if encode.ts has nothing to scale or to place. */
function isPlainPng({ canvas, ...image }: ResultImage, output: Output): boolean {
  const { width, height } = limitSize(image, output)
  return output.format === 'png' && canvas === undefined && width === image.width && height === image.height
}

function toFile(image: ResultImage): CutOutFile {
  const { width, height, foreground } = image
  const begunAt = performance.now()
  const file = encodePng(image)
  return { file, width, height, foreground, encodeMs: performance.now() - begunAt }
}

function moveBack(value: Made) {
  const bytes = 'file' in value ? value.file : value.pixels
  const buffers = value.behind === undefined ? [bytes.buffer] : [bytes.buffer, value.behind.pixels.buffer]
  return move({ [transferableSymbol]: buffers, [valueSymbol]: value })
}

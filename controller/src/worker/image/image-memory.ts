// Memory budgets of a worker, in bytes: one image of 50 megapixels weighs as much as 170 of 680 x 440. A task holds its
// file's bytes from fetch to decoding, and its pixels' bytes from the header to the stored result. One shared budget
// could fill up with files that wait for pixels; with two, a task that holds pixels waits for nothing.
import type { Output } from '@matte/core/db/tables/task'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { createBudget } from './budget.ts'
import { maskPixelsPerCell } from './cut-out/mask-cells.ts'
import type { PhotoHeader } from './decode.ts'
import type { Background } from './layers.ts'
import { sizeWithShadow } from './shadow/shadow-size.ts'

export type ImageMemory = ReturnType<typeof createImageMemory>

/** For files: 15 of the largest that a plan allows, or a hundred ordinary ones, at the default. */
const fileShare = 1 / 8

export const createImageMemory = (totalBytes: number) => ({
  files: createBudget(Math.floor(totalBytes * fileShare)),
  pixels: createBudget(Math.ceil(totalBytes * (1 - fileShare))),
})

// Peak bytes per pixel beside the file, above the measured worst case that each line names.
// test/controller/memory.faults.test.ts verifies them, with glibc set as in local/src/servers/runtime-env.ts, and with
// the image's jemalloc.
/** 14.6: PNG of noise. Progressive CMYK takes 14.1, WebP 13.3, others 9. */
const anyImage = 16
/** 16.7: interlaced and rotated; either alone takes 12.5. */
const deepImage = 18
/** 35.7: libwebp's work on the alpha plane, beside the cut-out of 4 bytes. */
const webpResult = { cutOut: 4, encoder: 36 }

/** Two views, each: input 3, outgoing request 3, mask, response and thread copy 1; then 8 to join them. */
const modelPixel = 2 * (3 + 3 + 1 + 1 + 1) + 8
/** Refinement arrays (refine.test.ts): 22.9 MB when all 160 x 160 cells are unsettled. */
const gridCell = 920

export const modelBytes = (inputSize: number): number =>
  inputSize ** 2 * modelPixel + (inputSize / maskPixelsPerCell(inputSize)) ** 2 * gridCell

/** 7.7: JPEG of noise in a canvas that grows as far as it can. A result with its shadow is held beside its file. */
const shadowResult = 9

/** `pixelsMax`: limit of a result that is larger than its photo. */
export function pixelBytes(header: PhotoHeader, output: Output | null, pixelsMax: number): number {
  const pixels = header.width * header.height
  const input = pixels * (header.depth === 'uchar' ? anyImage : deepImage)
  const shown = shownPixels(header, output, pixelsMax)
  if (output?.format !== 'webp') return shown === pixels ? input : Math.max(input, shown * shadowResult)
  const resultPixels = Math.min(shown, (output.maxSide ?? Infinity) ** 2, output.maxPixels ?? Infinity)
  return Math.max(input, shown * webpResult.cutOut + resultPixels * webpResult.encoder)
}

/**
 * Pixels of the result before it is scaled down. Margins end at the photo's edge, so only a shadow makes it larger than
 * the photo: if the canvas grows for it, or if it is scaled with its subject. The subject may fill the photo.
 */
function shownPixels(header: PhotoHeader, output: Output | null, pixelsMax: number): number {
  const pixels = header.width * header.height
  if (!output?.shadow) return pixels
  const { shadow, scale, position } = output
  if (!shadow.grow && scale === 'original' && position === 'original') return pixels
  const { width, height } = sizeWithShadow(shadow, header.autoOrient)
  return Math.min(width * height, Math.max(pixels, pixelsMax))
}

/** 13.9: parts of noise. PNG of noise over a background of its size takes 11.8, JPEG 10.1; WebP is in `pixelBytes`. */
const layerPixel = 15

/** `pixelBytes` with what a door adds. Pixels of the photo may not be collected yet, so they count too. */
export function taskBytes(
  { output, door }: Pick<ClaimedTask, 'output' | 'door'>,
  header: PhotoHeader,
  background: Pick<Background, 'file' | 'header'> | undefined,
  pixelsMax: number,
): number {
  const image = pixelBytes(header, output, pixelsMax)
  if (door === null) return image
  return (
    image +
    shownPixels(header, output, pixelsMax) * layerPixel +
    (background ? pixelBytes(background.header, null, pixelsMax) + background.file.length : 0)
  )
}

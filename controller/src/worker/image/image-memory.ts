// What bounds memory is bytes, not images: one of 50 megapixels weighs as much as 170 of 680 x 440. A task takes the
// bytes of its file before it fetches it and gives them back when it is decoded; it takes those of its pixels once the
// header says how many they are, and gives them back when its result is stored. Two budgets, and not two shares of
// one: files that wait for room for their pixels could fill it, and then none would ever get any. With two, whoever
// holds pixels waits for no bytes any more, so pixels always come free, and after them files (A52).
import type { Output } from '@matte/core/db/tables/task'
import { maskPixelsPerCell } from './cut-out/mask-cells.ts'
import type { PhotoHeader } from './decode.ts'
import { createBudget } from './memory/budget.ts'

export type ImageMemory = ReturnType<typeof createImageMemory>

/** For files as they were fetched; at the default 15 of the largest that a plan allows, a hundred ordinary ones. */
const fileShare = 1 / 8

export const createImageMemory = (totalBytes: number) => ({
  files: createBudget(Math.floor(totalBytes * fileShare)),
  pixels: createBudget(Math.ceil(totalBytes * (1 - fileShare))),
})

// Most bytes in memory for each pixel, from the header's reading to the stored result, beside the file itself; after
// each the worst that was measured. test/controller/memory.faults.test.ts holds the code to them, by the worst files,
// where malloc gives back what is freed: glibc as local/src/servers/runtime-env.ts sets it, and the image's jemalloc.
/** 14.6: noise as PNG, packed beside its copy. Decoding takes less: 14.1 progressive CMYK, 13.3 WebP, 9 all others. */
const anyImage = 16
/** 16.7: interlaced and turned, each of which libvips does on a whole image of 8 bytes a pixel; 12.5 either alone. */
const deepImage = 18
/** 35.7: libwebp's work on the alpha plane, beside the cut-out of 4 bytes. */
const webpResult = { cutOut: 4, encoder: 36 }

/** Input 3, the request on its way out as many, mask, answer and a thread's copy 1 each; two views, and their join. */
const modelPixel = 2 * (3 + 3 + 1 + 1 + 1) + 8
/** All arrays of the work on the mask's grid (refine.test.ts): 22.9 MB where each of 160 x 160 cells is doubtful. */
const gridCell = 920

/**
 * Bytes for the input of a model of this side, its answer and the grid of the mask, the same for each photo: of a small
 * one, more than its pixels take.
 */
export const modelBytes = (inputSize: number): number =>
  inputSize ** 2 * modelPixel + (inputSize / maskPixelsPerCell(inputSize)) ** 2 * gridCell

/** Bytes that the pixels of this image take at most on their way to this result. */
export function pixelBytes({ width, height, depth }: PhotoHeader, output: Output | null): number {
  const pixels = width * height
  const input = pixels * (depth === 'uchar' ? anyImage : deepImage)
  if (output?.format !== 'webp') return input
  const resultPixels = Math.min(pixels, (output.maxSide ?? Infinity) ** 2)
  return Math.max(input, pixels * webpResult.cutOut + resultPixels * webpResult.encoder)
}

import type { Photo } from '../decode.ts'
import { compose } from './compose.ts'
import { buildColourField } from './decontaminate.ts'
import { type Box, findForeground, hasForeground } from './foreground.ts'
import { toMaskCells } from './mask-cells.ts'
import { refine } from './refine/refine.ts'
import { sampleCells } from './sample-cells.ts'

// The whole way from photo and mask to cut-out, pure and synchronous: everything costly happens on a grid of 160 x 160
// cells (refine, decontaminate), then one pass over the photo writes the result (compose). Memory besides the photo:
// the result (4 bytes a pixel) and up to 24 MB for the grid, whatever the photo's size. Wherever pixels and cells are
// read `as number`: a typed array gives `number | undefined` to the checker, and the loop around it bounds the index.

export type CutOut = {
  /** `width * height * 4` bytes, 8-bit sRGB, not premultiplied; colour is 0 wherever alpha is 0. */
  readonly rgba: Uint8Array<ArrayBuffer>
  readonly width: number
  readonly height: number
  /** Null: nothing was found, and the result is fully transparent. */
  readonly foreground: Box | null
}

/**
 * `mask`: the network's answer for the whole photo, square (sides divisible by 4), row by row, probability x 255.
 * The photo is not changed; its own alpha, if it has one, is multiplied into the result. Blocks for 6 ms a megapixel
 * and 10 ms besides, so it belongs on a thread (image-pool.ts). Throws RangeError for a mask of any other shape.
 */
export function cutOut(photo: Photo, mask: Uint8Array): CutOut {
  const { width, height } = photo
  const maskSize = Math.sqrt(mask.length)
  if (maskSize < 4 || maskSize % 4 !== 0) {
    throw new RangeError(`a mask of ${mask.length} bytes is not a square with sides divisible by 4`)
  }
  if (!hasForeground(mask)) return nothingFound(width, height)
  let best = 0
  for (let i = 0; i < mask.length; i++) best = Math.max(best, mask[i] as number)

  const cells = toMaskCells(mask, maskSize, best)
  const colours = sampleCells(photo, cells.gridSize)
  const { alpha, coefficients } = refine(cells, colours)
  const rgba = compose(photo, cells.gridSize, coefficients, buildColourField(cells, alpha, colours))
  const foreground = findForeground(rgba, width, height)
  return foreground === null ? nothingFound(width, height) : { rgba, width, height, foreground }
}

const nothingFound = (width: number, height: number): CutOut => ({
  rgba: new Uint8Array(width * height * 4),
  width,
  height,
  foreground: null,
})

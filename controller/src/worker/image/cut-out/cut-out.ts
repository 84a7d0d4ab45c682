import { compose } from './compose.ts'
import { confidenceOf, measureViews, type Refined, type Views } from './confidence.ts'
import { buildColourField } from './decontaminate.ts'
import { type Box, findForeground, hasForeground } from './foreground.ts'
import { toMaskCells } from './mask-cells.ts'
import { refine } from './refine.ts'
import type { Photo } from './sample-cells.ts'
import { sampleCells } from './sample-cells.ts'

// Photo and mask to cut-out, pure and synchronous. The costly steps (refine, decontaminate) run on a grid of 160 x 160
// cells; compose makes one pass over the photo. Memory: 4 bytes per pixel for the result and up to 24 MB for the grid.
// `as number` in these files: TypeScript types array reads as possibly undefined, and the loops bound the index.

export type CutOut = {
  /** Straight alpha; colour is 0 where alpha is 0. */
  readonly rgba: Uint8Array<ArrayBuffer>
  readonly width: number
  readonly height: number
  /** Null when nothing was found. */
  readonly foreground: Box | null
}

/** `confidence`: 0 to 1 in steps of 0.01; undefined if the masks give no measure. */
type MeasuredCutOut = CutOut & { readonly confidence: number | undefined }

/**
 * `mask`: square, side divisible by 4, probability x 255. Blocks for 10 ms plus 6 ms per megapixel, so it runs on a
 * thread. @throws RangeError for a mask of another shape
 */
export function cutOut(photo: Photo, mask: Uint8Array, views: Views = measureViews(mask)): MeasuredCutOut {
  const { width, height } = photo
  const maskSize = Math.sqrt(mask.length)
  if (maskSize < 4 || maskSize % 4 !== 0) {
    throw new RangeError(`a mask of ${mask.length} bytes is not a square with sides divisible by 4`)
  }
  if (!hasForeground(mask)) return nothingFound(width, height)
  const { coefficients, ...refined } = refineMask(photo, mask)
  const { cells, alpha, colours } = refined
  const rgba = compose(photo, cells.gridSize, coefficients, buildColourField(cells, alpha, colours))
  const foreground = findForeground(rgba, width, height)
  if (foreground === null) return nothingFound(width, height)
  return { rgba, width, height, foreground, confidence: confidenceOf(refined, views) }
}

/** `mask` holds a value above 0. */
export function refineMask(photo: Photo, mask: Uint8Array): Refined & { readonly coefficients: Float32Array } {
  let best = 0
  for (let i = 0; i < mask.length; i++) best = Math.max(best, mask[i] as number)
  const cells = toMaskCells(mask, Math.sqrt(mask.length), best)
  const colours = sampleCells(photo, cells.gridSize)
  return { cells, colours, ...refine(cells, colours) }
}

const nothingFound = (width: number, height: number): MeasuredCutOut => ({
  rgba: new Uint8Array(width * height * 4),
  width,
  height,
  foreground: null,
  confidence: 0,
})

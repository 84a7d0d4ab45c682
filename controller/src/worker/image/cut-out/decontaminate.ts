import { boxMean } from './box-mean.ts'
import type { MaskCells } from './mask-cells.ts'
import type { CellColours } from './sample-cells.ts'

// A soft pixel shows a mixture, colour = alpha * foreground + (1 - alpha) * background; a cut-out that keeps the
// mixture has the well-known fringe of old background. Blur fusion (Forte 2021) takes as first guess the alpha-weighted
// mean of the colours around, and adds alpha times what the mixture equation then leaves unexplained; a second round
// with a small radius starts from the first one's result. Both rounds run on a grid half as fine as the mask's, since
// means change slowly; at full size only the last correction is repeated, and only for soft pixels (compose.ts).

/**
 * Mean colours around each cell of the mask's grid, 0..255: 6 floats a cell, red, green, blue of the foreground, then
 * of the background. Filled in near the unsettled cells only.
 */
export type ColourField = Float32Array

// Cells of the half grid on either side. Wide reaches solid colour from the middle of any soft zone (9 % of the side,
// as the paper's 90 of 1,024 pixels); narrow follows the subject's own colours along its edge. On lemur.png composed
// over black and white, a wide radius of 4 to 10 is as good; narrow 1 is best (mean error in soft pixels 14.7 levels;
// 0: 16.0).
const wideRadius = 7
const narrowRadius = 1

// Share of the cell's own colour in each mean: keeps it defined where no foreground (or background) is near.
const ownShare = 1e-3

/** `alpha`: 0..1 per cell, as refined; `colours`: the photo in the same cells. */
export function buildColourField(
  { gridSize, near }: MaskCells,
  alpha: Float32Array,
  colours: CellColours,
): ColourField {
  const halfSize = gridSize / 2
  const halfAlpha = halve(alpha, gridSize)
  const rest = halfAlpha.map((opacity) => 1 - opacity)
  const wideForeground = weightedMean(halfAlpha, halfSize, wideRadius)
  const wideBackground = weightedMean(rest, halfSize, wideRadius)
  const narrowForeground = weightedMean(halfAlpha, halfSize, narrowRadius)
  const narrowBackground = weightedMean(rest, halfSize, narrowRadius)
  const field = new Float32Array(gridSize * gridSize * 6)
  for (const [channel, plane] of colours.entries()) {
    const colour = halve(plane, gridSize)
    const guess = explain(colour, halfAlpha, wideForeground(colour), wideBackground(colour))
    spread(narrowForeground(guess), gridSize, near, field, channel)
    spread(narrowBackground(colour), gridSize, near, field, channel + 3)
  }
  return field
}

function halve(plane: Float32Array, gridSize: number): Float32Array {
  const halfSize = gridSize / 2
  const half = new Float32Array(halfSize * halfSize)
  for (let y = 0; y < halfSize; y++) {
    for (let x = 0; x < halfSize; x++) {
      const i = (y * gridSize + x) * 2
      const upper = (plane[i] as number) + (plane[i + 1] as number)
      const lower = (plane[i + gridSize] as number) + (plane[i + gridSize + 1] as number)
      half[y * halfSize + x] = (upper + lower) / 4
    }
  }
  return half
}

/** Back to the mask's grid, bilinearly: a cell's centre lies a quarter cell from that of the half grid's cell. */
function spread(half: Float32Array, gridSize: number, near: Int32Array, field: ColourField, channel: number): void {
  const halfSize = gridSize / 2
  const clamp = (position: number) => Math.min(halfSize - 1, Math.max(0, position))
  for (const cell of near) {
    const x = cell % gridSize
    const y = (cell - x) / gridSize
    const row = (y >> 1) * halfSize
    const nextRow = clamp((y >> 1) + (y & 1 ? 1 : -1)) * halfSize
    const column = x >> 1
    const nextColumn = clamp(column + (x & 1 ? 1 : -1))
    const same = 3 * (half[row + column] as number) + (half[row + nextColumn] as number)
    const next = 3 * (half[nextRow + column] as number) + (half[nextRow + nextColumn] as number)
    field[cell * 6 + channel] = ((3 * same + next) * 255) / 16
  }
}

/** Means of a plane's values over windows, each value counted by its cell's weight. */
function weightedMean(weight: Float32Array, gridSize: number, radius: number) {
  const meanWeight = boxMean(weight, gridSize, radius)
  return (values: Float32Array): Float32Array => {
    const mean = boxMean(values, gridSize, radius, weight)
    for (let cell = 0; cell < mean.length; cell++) {
      const sum = (mean[cell] as number) + ownShare * (values[cell] as number)
      mean[cell] = sum / ((meanWeight[cell] as number) + ownShare)
    }
    return mean
  }
}

/** Moves the foreground, in place, towards what the mixture equation asks for. */
function explain(colour: Float32Array, alpha: Float32Array, foreground: Float32Array, background: Float32Array) {
  for (let cell = 0; cell < colour.length; cell++) {
    const opacity = alpha[cell] as number
    const front = foreground[cell] as number
    const unexplained = (colour[cell] as number) - opacity * front - (1 - opacity) * (background[cell] as number)
    foreground[cell] = Math.min(1, Math.max(0, front + opacity * unexplained))
  }
  return foreground
}

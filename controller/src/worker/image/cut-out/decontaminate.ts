import type { MaskCells } from './mask-cells.ts'
import type { CellColours } from './sample-cells.ts'

// Estimates foreground and background colours, so soft pixels lose the fringe of the old background. Blur fusion (Forte
// 2021): the alpha-weighted mean of nearby colours, corrected by what the mixture equation leaves unexplained, then a
// second round with a small radius. Both rounds run at half the grid's resolution; compose.ts repeats the last
// correction at full size.

/** Mean colours per cell, 0..255: 6 floats, foreground RGB and background RGB, filled in near unsettled cells only. */
export type ColourField = Float32Array

// In cells of the half grid. Wide (9 % of the side, as in the paper) reaches solid colour from inside any soft zone;
// narrow follows the edge. On lemur.png wide 4 to 10 are equal; narrow 1 is best (error 14.7 levels; 0: 16.0).
const wideRadius = 7
const narrowRadius = 1

// Share of a cell's own colour in each mean, for cells without foreground or background nearby.
const ownShare = 1e-3

export function buildColourField(
  { gridSize, near }: MaskCells,
  alpha: Float32Array,
  colours: CellColours,
): ColourField {
  const halfSize = gridSize / 2
  const halfAlpha = halve(alpha, gridSize)
  const rest = halfAlpha.map(complement)
  const wideForeground = weigh(halfAlpha, halfSize, wideRadius)
  const wideBackground = weigh(rest, halfSize, wideRadius)
  const narrowForeground = weigh(halfAlpha, halfSize, narrowRadius)
  const narrowBackground = weigh(rest, halfSize, narrowRadius)
  const field = new Float32Array(gridSize * gridSize * 6)
  for (const [channel, plane] of colours.entries()) {
    const colour = halve(plane, gridSize)
    const guess = explain(colour, halfAlpha, weightedMean(wideForeground, colour), weightedMean(wideBackground, colour))
    spread(weightedMean(narrowForeground, guess), gridSize, near, field, channel)
    spread(weightedMean(narrowBackground, colour), gridSize, near, field, channel + 3)
  }
  return field
}

const complement = (opacity: number): number => 1 - opacity

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

const clamp = (position: number, size: number): number => Math.min(size - 1, Math.max(0, position))

function spread(half: Float32Array, gridSize: number, near: Int32Array, field: ColourField, channel: number): void {
  const halfSize = gridSize / 2
  for (const cell of near) {
    const x = cell % gridSize
    const y = (cell - x) / gridSize
    const row = (y >> 1) * halfSize
    const nextRow = clamp((y >> 1) + (y & 1 ? 1 : -1), halfSize) * halfSize
    const column = x >> 1
    const nextColumn = clamp(column + (x & 1 ? 1 : -1), halfSize)
    const same = 3 * (half[row + column] as number) + (half[row + nextColumn] as number)
    const next = 3 * (half[nextRow + column] as number) + (half[nextRow + nextColumn] as number)
    field[cell * 6 + channel] = ((3 * same + next) * 255) / 16
  }
}

type Weights = {
  readonly weight: Float32Array
  readonly meanWeight: Float32Array
  readonly gridSize: number
  readonly radius: number
}

const weigh = (weight: Float32Array, gridSize: number, radius: number): Weights => ({
  weight,
  meanWeight: boxMean(weight, gridSize, radius),
  gridSize,
  radius,
})

function weightedMean({ weight, meanWeight, gridSize, radius }: Weights, values: Float32Array): Float32Array {
  const mean = boxMean(values, gridSize, radius, weight)
  for (let cell = 0; cell < mean.length; cell++) {
    const sum = (mean[cell] as number) + ownShare * (values[cell] as number)
    mean[cell] = sum / ((meanWeight[cell] as number) + ownShare)
  }
  return mean
}

/** Moves the foreground towards the mixture equation's solution, in place. */
function explain(colour: Float32Array, alpha: Float32Array, foreground: Float32Array, background: Float32Array) {
  for (let cell = 0; cell < colour.length; cell++) {
    const opacity = alpha[cell] as number
    const front = foreground[cell] as number
    const unexplained = (colour[cell] as number) - opacity * front - (1 - opacity) * (background[cell] as number)
    foreground[cell] = Math.min(1, Math.max(0, front + opacity * unexplained))
  }
  return foreground
}

/** Means of `source` (times `weight`) over square windows, at a cost independent of the radius. In double precision. */
export function boxMean(source: Float32Array, size: number, radius: number, weight?: Float32Array): Float32Array {
  const values = weight === undefined ? source : product(source, weight)
  const target = new Float32Array(source.length)
  const columns = new Float64Array(size)
  const prefix = new Float64Array(size + 1)
  for (let y = -radius; y < size; y++) {
    slideDown(columns, values, size, y + radius, y - radius - 1)
    if (y < 0) continue
    let sum = 0
    for (let x = 0; x < size; x++) {
      sum += columns[x] as number
      prefix[x + 1] = sum
    }
    const height = Math.min(size - 1, y + radius) - Math.max(0, y - radius) + 1
    averageRow(prefix, radius, height, target, y * size)
  }
  return target
}

function slideDown(columns: Float64Array, values: Float32Array, size: number, entering: number, leaving: number): void {
  if (entering < size) {
    for (let x = 0, i = entering * size; x < size; x++, i++) {
      columns[x] = (columns[x] as number) + (values[i] as number)
    }
  }
  if (leaving >= 0) {
    for (let x = 0, i = leaving * size; x < size; x++, i++) {
      columns[x] = (columns[x] as number) - (values[i] as number)
    }
  }
}

function averageRow(prefix: Float64Array, radius: number, height: number, target: Float32Array, offset: number): void {
  const size = prefix.length - 1
  const inside = Math.max(radius, size - radius)
  const scale = 1 / ((2 * radius + 1) * height)
  for (let x = radius; x < inside; x++) {
    target[offset + x] = ((prefix[x + radius + 1] as number) - (prefix[x - radius] as number)) * scale
  }
  for (let x = 0; x < Math.min(radius, size); x++) {
    const to = Math.min(size, x + radius + 1)
    target[offset + x] = (prefix[to] as number) / (to * height)
  }
  for (let x = inside; x < size; x++) {
    const from = Math.max(0, x - radius)
    target[offset + x] = ((prefix[size] as number) - (prefix[from] as number)) / ((size - from) * height)
  }
}

function product(a: Float32Array, b: Float32Array): Float32Array {
  const result = new Float32Array(a.length)
  for (let i = 0; i < result.length; i++) result[i] = (a[i] as number) * (b[i] as number)
  return result
}

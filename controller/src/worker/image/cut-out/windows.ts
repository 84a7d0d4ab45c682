import type { CellColours } from './sample-cells.ts'
import { type CellList, numbersPerCell, sumWindows, type WindowSums, windowCounts, windowSums } from './window-sums.ts'

// Local linear model of the refinement: in each window, value = a . rgb + b by ridge regression (He, Sun, Tang: Guided
// Image Filtering, ECCV 2010). The colour statistics are computed once and fitted to any number of values.

type Windows = {
  readonly middles: CellList
  readonly radius: number
  readonly counts: Float32Array
  /** Per window: mean RGB; variances; covariances of red and green, red and blue, green and blue. */
  readonly moments: Float64Array
}
const numbersPerWindow = 9

export function measureWindows(sources: ColouredCells, middles: CellList, radius: number): Windows {
  const windows = {
    middles,
    radius,
    counts: windowCounts(middles, radius),
    moments: new Float64Array(middles.cells.length * numbersPerWindow),
  }
  const plan = windowSums(sources, middles, radius)
  const products = new Float64Array(sources.cells.length * numbersPerCell)
  const sums = new Float64Array(middles.cells.length * numbersPerCell)
  for (const part of parts) {
    multiplyColours(part, sources, products)
    sumWindows(plan, products, sums)
    copyMeans(part, sums, windows)
  }
  toCovariances(windows)
  return windows
}

const parts = ['plain', 'squares', 'pairs'] as const
type Part = (typeof parts)[number]

function multiplyColours(part: Part, { rgb }: ColouredCells, products: Float64Array): void {
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += numbersPerCell) {
    const red = rgb[from] as number
    const green = rgb[from + 1] as number
    const blue = rgb[from + 2] as number
    products[to] = part === 'plain' ? red : part === 'squares' ? red * red : red * green
    products[to + 1] = part === 'plain' ? green : part === 'squares' ? green * green : red * blue
    products[to + 2] = part === 'plain' ? blue : part === 'squares' ? blue * blue : green * blue
  }
}

function copyMeans(part: Part, sums: Float64Array, { counts, moments }: Windows): void {
  const start = 3 * parts.indexOf(part)
  for (let i = 0, from = 0, to = start; i < counts.length; i++, from += numbersPerCell, to += numbersPerWindow) {
    const scale = 1 / (counts[i] as number)
    moments[to] = (sums[from] as number) * scale
    moments[to + 1] = (sums[from + 1] as number) * scale
    moments[to + 2] = (sums[from + 2] as number) * scale
  }
}

function toCovariances({ moments }: Windows): void {
  for (let at = 0; at < moments.length; at += numbersPerWindow) {
    const red = moments[at] as number
    const green = moments[at + 1] as number
    const blue = moments[at + 2] as number
    moments[at + 3] = (moments[at + 3] as number) - red * red
    moments[at + 4] = (moments[at + 4] as number) - green * green
    moments[at + 5] = (moments[at + 5] as number) - blue * blue
    moments[at + 6] = (moments[at + 6] as number) - red * green
    moments[at + 7] = (moments[at + 7] as number) - red * blue
    moments[at + 8] = (moments[at + 8] as number) - green * blue
  }
}

export type RidgeWindows = Omit<Windows, 'moments'> & {
  /** Per window: the means, then the inverse of the covariances with epsilon added to the variances. */
  readonly inverses: Float64Array
}

export function addRidge({ moments, ...windows }: Windows, epsilon: number): RidgeWindows {
  const inverses = new Float64Array(moments.length)
  for (let at = 0; at < moments.length; at += numbersPerWindow) {
    const rr = (moments[at + 3] as number) + epsilon
    const gg = (moments[at + 4] as number) + epsilon
    const bb = (moments[at + 5] as number) + epsilon
    const rg = moments[at + 6] as number
    const rb = moments[at + 7] as number
    const gb = moments[at + 8] as number
    // Inverse by cofactors; it is symmetric.
    const c00 = gg * bb - gb * gb
    const c01 = gb * rb - rg * bb
    const c02 = rg * gb - gg * rb
    const scale = 1 / (rr * c00 + rg * c01 + rb * c02)
    inverses[at] = moments[at] as number
    inverses[at + 1] = moments[at + 1] as number
    inverses[at + 2] = moments[at + 2] as number
    inverses[at + 3] = c00 * scale
    inverses[at + 4] = (rr * bb - rb * rb) * scale
    inverses[at + 5] = (rr * gg - rg * rg) * scale
    inverses[at + 6] = c01 * scale
    inverses[at + 7] = c02 * scale
    inverses[at + 8] = (rg * rb - rr * gb) * scale
  }
  return { ...windows, inverses }
}

/** Prepared once per list of sources, for any number of values. */
export type WindowFit = {
  readonly windows: RidgeWindows
  readonly sources: ColouredCells
  readonly sums: WindowSums
  readonly products: Float64Array
}

export const windowFit = (windows: RidgeWindows, sources: ColouredCells): WindowFit => ({
  windows,
  sources,
  sums: windowSums(sources, windows.middles, windows.radius),
  products: new Float64Array(sources.cells.length * numbersPerCell),
})

/** Fits values of the sources; writes the slopes and the constant of every window. */
export function fitWindows(
  { windows, sources, sums, products }: WindowFit,
  values: Float64Array,
  models: Float64Array,
) {
  const { rgb } = sources
  for (let i = 0, from = 0, to = 0; i < values.length; i++, from += 3, to += numbersPerCell) {
    const value = values[i] as number
    products[to] = value * (rgb[from] as number)
    products[to + 1] = value * (rgb[from + 1] as number)
    products[to + 2] = value * (rgb[from + 2] as number)
    products[to + 3] = value
  }
  sumWindows(sums, products, models)
  solve(windows, models)
}

/** Turns sums into models, in place. */
function solve({ counts, inverses }: RidgeWindows, models: Float64Array): void {
  for (let i = 0, at = 0, to = 0; i < counts.length; i++, at += numbersPerWindow, to += numbersPerCell) {
    const red = inverses[at] as number
    const green = inverses[at + 1] as number
    const blue = inverses[at + 2] as number
    const scale = 1 / (counts[i] as number)
    const mean = (models[to + 3] as number) * scale
    const withRed = (models[to] as number) * scale - red * mean
    const withGreen = (models[to + 1] as number) * scale - green * mean
    const withBlue = (models[to + 2] as number) * scale - blue * mean
    const c01 = inverses[at + 6] as number
    const c02 = inverses[at + 7] as number
    const c12 = inverses[at + 8] as number
    const slopeRed = (inverses[at + 3] as number) * withRed + c01 * withGreen + c02 * withBlue
    const slopeGreen = c01 * withRed + (inverses[at + 4] as number) * withGreen + c12 * withBlue
    const slopeBlue = c02 * withRed + c12 * withGreen + (inverses[at + 5] as number) * withBlue
    models[to] = slopeRed
    models[to + 1] = slopeGreen
    models[to + 2] = slopeBlue
    models[to + 3] = mean - slopeRed * red - slopeGreen * green - slopeBlue * blue
  }
}

export type ColouredCells = CellList & { readonly rgb: Float32Array }

export function colourCells([reds, greens, blues]: CellColours, list: CellList): ColouredCells {
  const rgb = new Float32Array(list.cells.length * 3)
  for (let i = 0, to = 0; to < rgb.length; i++, to += 3) {
    const cell = list.cells[i] as number
    rgb[to] = reds[cell] as number
    rgb[to + 1] = greens[cell] as number
    rgb[to + 2] = blues[cell] as number
  }
  return { ...list, rgb }
}

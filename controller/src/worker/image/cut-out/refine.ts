import { haze, type MaskCells } from './mask-cells.ts'
import type { CellColours } from './sample-cells.ts'

// The mask is as coarse as the network (320 x 320); the photo has the edges. A guided filter (He, Sun, Tang 2010)
// explains alpha in each small window as a linear function of the photo's colour, alpha = a . rgb + b; in its fast form
// (He, Sun 2015) a and b are found on a coarse grid and only a . rgb + b is evaluated at full resolution. So the cost
// of this file does not depend on the photo's size, and the full-size pass (compose.ts) needs no planes of its own.

// The numbers below were chosen on lemur.png against its true matte, then judged by eye on the four photos without one.
// Gradient error with windows of radius 2, 3, 4, 5: 10.8, 8.1, 7.0, 6.5, where the mask merely stretched has 27.5; but
// beyond 3 a dark halo grows around rocket.jpg.

// Cells on either side of the middle of a window: 7 x 7 cells, 4 % of the image's side.
const windowRadius = 3

// Variance of colour (0..1 scale) up to which a window counts as even: more smooths, less lets texture through.
const epsilon = 1e-3

/**
 * `colours`: the photo in the same cells as the mask. `coefficients` are 4 floats a cell: a for red, green, blue, then
 * b, with alpha (0..255, not yet clamped) = a . (r, g, b: 0..255) + b; settled cells have a = 0 and b below 0 or above
 * 255. `alpha` is that of each cell at its own mean colour, 0..1.
 */
export function refine(cells: MaskCells, colours: CellColours) {
  const { gridSize, probability, unsettled } = cells
  const [red, green, blue] = colours
  const model = fitWindows(cells, colours)
  const coefficients = new Float32Array(gridSize * gridSize * 4)
  const alpha = new Float32Array(gridSize * gridSize)
  // Where the network is sure of a cell and its neighbours, colour has no say: else a blue emblem on a rocket would be
  // cut out together with the blue sky, and the grain of a table top taken for part of the cup on it.
  for (let cell = 0; cell < alpha.length; cell++) {
    alpha[cell] = (probability[cell] as number) < 0.5 ? 0 : 1
    coefficients[cell * 4 + 3] = ((alpha[cell] as number) - haze) * gain * 255
  }
  for (const cell of unsettled) {
    averageAround(model, gridSize, cell, coefficients)
    const a0 = coefficients[cell * 4] as number
    const a1 = coefficients[cell * 4 + 1] as number
    const a2 = coefficients[cell * 4 + 2] as number
    const b = coefficients[cell * 4 + 3] as number
    const level = a0 * (red[cell] as number) + a1 * (green[cell] as number) + a2 * (blue[cell] as number) + b
    alpha[cell] = Math.min(1, Math.max(0, (level - haze) * gain))
    coefficients[cell * 4] = a0 * gain
    coefficients[cell * 4 + 1] = a1 * gain
    coefficients[cell * 4 + 2] = a2 * gain
    coefficients[cell * 4 + 3] = (b - haze) * gain * 255
  }
  return { coefficients, alpha }
}

// What lies between haze and solid is stretched to the full range.
const gain = 1 / (1 - 2 * haze)

/** Least squares in the windows around the near cells: 4 floats a cell, slopes for red, green, blue, and a constant. */
function fitWindows({ gridSize, probability, near }: MaskCells, colours: CellColours): Float32Array {
  const columns = new Float64Array(gridSize * sumsPerColumn)
  const sums = new Float64Array(sumsPerColumn)
  const model = new Float32Array(gridSize * gridSize * 4)
  let next = 0
  for (let y = -windowRadius; y < gridSize; y++) {
    addRow(columns, colours, probability, gridSize, y + windowRadius, 1)
    addRow(columns, colours, probability, gridSize, y - windowRadius - 1, -1)
    const height = Math.min(gridSize - 1, y + windowRadius) - Math.max(0, y - windowRadius) + 1
    for (; next < near.length && (near[next] as number) < (y + 1) * gridSize; next++) {
      const cell = near[next] as number
      sumWindow(columns, gridSize, cell - y * gridSize, height, sums)
      solveWindow(sums, model, cell)
    }
  }
  return model
}

// What the columns of the windows hold, summed: red, green, blue, alpha, then the products of any two but alpha
// squared. All thirteen go down the grid at once, in double precision so that what has passed leaves no trace.
const sumsPerColumn = 13

/** Adds a row of the grid to the sums of its columns, or takes it away (`sign`); rows outside the grid are empty. */
function addRow(
  columns: Float64Array,
  [reds, greens, blues]: CellColours,
  alphas: Float32Array,
  gridSize: number,
  row: number,
  sign: 1 | -1,
): void {
  if (row < 0 || row >= gridSize) return
  for (let cell = row * gridSize, i = 0; i < columns.length; cell++, i += sumsPerColumn) {
    const red = reds[cell] as number
    const green = greens[cell] as number
    const blue = blues[cell] as number
    const alpha = alphas[cell] as number
    columns[i] = (columns[i] as number) + sign * red
    columns[i + 1] = (columns[i + 1] as number) + sign * green
    columns[i + 2] = (columns[i + 2] as number) + sign * blue
    columns[i + 3] = (columns[i + 3] as number) + sign * alpha
    columns[i + 4] = (columns[i + 4] as number) + sign * red * red
    columns[i + 5] = (columns[i + 5] as number) + sign * green * green
    columns[i + 6] = (columns[i + 6] as number) + sign * blue * blue
    columns[i + 7] = (columns[i + 7] as number) + sign * red * green
    columns[i + 8] = (columns[i + 8] as number) + sign * red * blue
    columns[i + 9] = (columns[i + 9] as number) + sign * green * blue
    columns[i + 10] = (columns[i + 10] as number) + sign * red * alpha
    columns[i + 11] = (columns[i + 11] as number) + sign * green * alpha
    columns[i + 12] = (columns[i + 12] as number) + sign * blue * alpha
  }
}

/** The means of the window around column `x`, clipped at the grid's border. */
function sumWindow(columns: Float64Array, gridSize: number, x: number, height: number, sums: Float64Array): void {
  const left = Math.max(0, x - windowRadius)
  const right = Math.min(gridSize - 1, x + windowRadius)
  const scale = 1 / ((right - left + 1) * height)
  sums.fill(0)
  for (let i = left * sumsPerColumn; i < (right + 1) * sumsPerColumn; i += sumsPerColumn) {
    for (let sum = 0; sum < sumsPerColumn; sum++) sums[sum] = (sums[sum] as number) + (columns[i + sum] as number)
  }
  for (let sum = 0; sum < sumsPerColumn; sum++) sums[sum] = (sums[sum] as number) * scale
}

/** The symmetric system (covariance + epsilon) slope = covariance with alpha, solved by its cofactors. */
function solveWindow(means: Float64Array, model: Float32Array, cell: number): void {
  const r = means[0] as number
  const g = means[1] as number
  const b = means[2] as number
  const alpha = means[3] as number
  const rr = (means[4] as number) - r * r + epsilon
  const gg = (means[5] as number) - g * g + epsilon
  const bb = (means[6] as number) - b * b + epsilon
  const rg = (means[7] as number) - r * g
  const rb = (means[8] as number) - r * b
  const gb = (means[9] as number) - g * b
  const ra = (means[10] as number) - r * alpha
  const ga = (means[11] as number) - g * alpha
  const ba = (means[12] as number) - b * alpha
  const c00 = gg * bb - gb * gb
  const c01 = gb * rb - rg * bb
  const c02 = rg * gb - gg * rb
  const c11 = rr * bb - rb * rb
  const c12 = rg * rb - rr * gb
  const c22 = rr * gg - rg * rg
  const determinant = rr * c00 + rg * c01 + rb * c02
  const slopeRed = (c00 * ra + c01 * ga + c02 * ba) / determinant
  const slopeGreen = (c01 * ra + c11 * ga + c12 * ba) / determinant
  const slopeBlue = (c02 * ra + c12 * ga + c22 * ba) / determinant
  model[cell * 4] = slopeRed
  model[cell * 4 + 1] = slopeGreen
  model[cell * 4 + 2] = slopeBlue
  model[cell * 4 + 3] = alpha - slopeRed * r - slopeGreen * g - slopeBlue * b
}

/**
 * A pixel lies in many windows; what holds for it is the mean of their models, here of the nearest nine. He averages
 * over a whole window, which blurs hair (gradient error on lemur.png 8.5, not 8.1, soft IoU 0.9786, not 0.9792).
 */
function averageAround(model: Float32Array, gridSize: number, cell: number, target: Float32Array): void {
  const x = cell % gridSize
  const left = x > 0 ? -1 : 0
  const right = x < gridSize - 1 ? 1 : 0
  const top = cell >= gridSize ? -gridSize : 0
  const bottom = cell < gridSize * (gridSize - 1) ? gridSize : 0
  let a0 = 0
  let a1 = 0
  let a2 = 0
  let b = 0
  let count = 0
  for (let row = cell + top; row <= cell + bottom; row += gridSize) {
    for (let i = (row + left) * 4; i <= (row + right) * 4; i += 4, count++) {
      a0 += model[i] as number
      a1 += model[i + 1] as number
      a2 += model[i + 2] as number
      b += model[i + 3] as number
    }
  }
  target[cell * 4] = a0 / count
  target[cell * 4 + 1] = a1 / count
  target[cell * 4 + 2] = a2 / count
  target[cell * 4 + 3] = b / count
}

import { boxMean, product } from './box-mean.ts'
import { haze, type MaskCells } from './mask-cells.ts'
import type { CellColours } from './sample-cells.ts'

// The mask is as coarse as the network (320 x 320); the photo has the edges. A guided filter (He, Sun, Tang 2010)
// explains alpha in each small window as a linear function of the photo's colour, alpha = a . rgb + b; in its fast form
// (He, Sun 2015) a and b are found on a coarse grid and only a . rgb + b is evaluated at full resolution. So the cost of
// this file does not depend on the photo's size, and the full-size pass (compose.ts) needs no planes of its own.
// Reading a typed array is `number | undefined` to the checker; every index here is bounded by the grid.

export type Refinement = {
  /**
   * 4 floats a cell: a for red, green, blue, then b, with alpha (0..255, not yet clamped) = a . (r, g, b: 0..255) + b.
   * Settled cells have a = 0 and b below 0 or above 255.
   */
  readonly coefficients: Float32Array
  /** Alpha of each cell at its own mean colour, 0..1. */
  readonly alpha: Float32Array
}

// The numbers below were chosen on lemur.png against its true matte, then looked at on the four photos without one.
// Gradient error with windows of radius 2, 3, 4, 5: 10.8, 8.1, 7.0, 6.5, where the mask merely stretched has 27.5; but
// beyond 3 a dark halo grows around rocket.jpg.

// Cells on either side of the middle of a window: 7 x 7 cells, 4 % of the picture's side.
const windowRadius = 3

// Variance of colour (0..1 scale) up to which a window counts as even: more smooths, less lets texture through.
const epsilon = 1e-3

/** `colours`: the photo in the same cells as the mask. */
export function refine(cells: MaskCells, colours: CellColours): Refinement {
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
    const [a0, a1, a2, b] = averageAround(model, gridSize, cell)
    coefficients[cell * 4] = a0 * gain
    coefficients[cell * 4 + 1] = a1 * gain
    coefficients[cell * 4 + 2] = a2 * gain
    coefficients[cell * 4 + 3] = (b - haze) * gain * 255
    const level = a0 * (red[cell] as number) + a1 * (green[cell] as number) + a2 * (blue[cell] as number) + b
    alpha[cell] = Math.min(1, Math.max(0, (level - haze) * gain))
  }
  return { coefficients, alpha }
}

// What lies between haze and solid is stretched to the full range.
const gain = 1 / (1 - 2 * haze)

/** Least squares in the windows around the near cells: 4 floats a cell, slopes for red, green, blue, then the constant. */
function fitWindows({ gridSize, probability, near }: MaskCells, [red, green, blue]: CellColours): Float32Array {
  const mean = (plane: Float32Array) => boxMean(plane, gridSize, windowRadius)
  const [meanRed, meanGreen, meanBlue, meanAlpha] = [mean(red), mean(green), mean(blue), mean(probability)]
  const [meanRedRed, meanGreenGreen] = [mean(product(red, red)), mean(product(green, green))]
  const [meanBlueBlue, meanRedGreen] = [mean(product(blue, blue)), mean(product(red, green))]
  const [meanRedBlue, meanGreenBlue] = [mean(product(red, blue)), mean(product(green, blue))]
  const meanRedAlpha = mean(product(red, probability))
  const meanGreenAlpha = mean(product(green, probability))
  const meanBlueAlpha = mean(product(blue, probability))
  const model = new Float32Array(gridSize * gridSize * 4)
  for (const cell of near) {
    const r = meanRed[cell] as number
    const g = meanGreen[cell] as number
    const b = meanBlue[cell] as number
    const alpha = meanAlpha[cell] as number
    // The symmetric system (covariance + epsilon) slope = covariance with alpha, solved by its cofactors.
    const rr = (meanRedRed[cell] as number) - r * r + epsilon
    const gg = (meanGreenGreen[cell] as number) - g * g + epsilon
    const bb = (meanBlueBlue[cell] as number) - b * b + epsilon
    const rg = (meanRedGreen[cell] as number) - r * g
    const rb = (meanRedBlue[cell] as number) - r * b
    const gb = (meanGreenBlue[cell] as number) - g * b
    const ra = (meanRedAlpha[cell] as number) - r * alpha
    const ga = (meanGreenAlpha[cell] as number) - g * alpha
    const ba = (meanBlueAlpha[cell] as number) - b * alpha
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
  return model
}

/**
 * A pixel lies in many windows; what holds for it is the mean of their models. He averages over a whole window, which
 * blurs hair (gradient error on lemur.png 8.5 instead of 8.1, soft IoU 0.9786 instead of 0.9792); here the nearest nine.
 */
function averageAround(model: Float32Array, gridSize: number, cell: number): [number, number, number, number] {
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
  return [a0 / count, a1 / count, a2 / count, b / count]
}

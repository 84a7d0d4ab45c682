// Matting Laplacian by its definition, cell by cell and window by window; only for small grids.
import type { CellColours } from './sample-cells.ts'

export const gridSize = 12

const plane = (seed: number) =>
  Float32Array.from({ length: gridSize ** 2 }, (_, cell) => {
    const slope = ((cell % gridSize) * seed) / 40
    return Math.abs(Math.sin(slope + Math.floor(cell / gridSize) / seed)) * 0.8 + ((cell * seed * 7) % 13) / 100
  })
export const colourful: CellColours = [plane(2), plane(3), plane(5)]

type Matrix = number[][]

/** Over all windows w: 1 (for i = j) - (1 + (rgb_i - mean)' (covariance + epsilon)^-1 (rgb_j - mean)) / |w|. */
export function buildLaplacian(radius: number, epsilon: number): Matrix {
  const count = gridSize ** 2
  const matrix = Array.from({ length: count }, () => new Array<number>(count).fill(0))
  const rgbOf = (cell: number) => colourful.map((values) => values[cell] ?? Number.NaN)
  for (let middle = 0; middle < count; middle++) {
    const window = Array.from({ length: count }, (_, cell) => cell).filter(
      (cell) =>
        Math.abs((cell % gridSize) - (middle % gridSize)) <= radius &&
        Math.abs(Math.floor(cell / gridSize) - Math.floor(middle / gridSize)) <= radius,
    )
    const mean = [0, 1, 2].map((k) => window.reduce((sum, cell) => sum + (rgbOf(cell)[k] ?? 0), 0) / window.length)
    const centred = window.map((cell) => rgbOf(cell).map((value, k) => value - (mean[k] ?? 0)))
    const covariance = [0, 1, 2].map((k) =>
      [0, 1, 2].map(
        (l) =>
          centred.reduce((sum, rgb) => sum + (rgb[k] ?? 0) * (rgb[l] ?? 0), 0) / window.length +
          (k === l ? epsilon : 0),
      ),
    )
    for (const [j, other] of window.entries()) {
      const slopes = solveDense(covariance, centred[j] ?? [])
      for (const [i, one] of window.entries()) {
        const affinity = 1 + (centred[i] ?? []).reduce((sum, value, k) => sum + value * (slopes[k] ?? 0), 0)
        const row = matrix[one] ?? []
        row[other] = (row[other] ?? 0) + ((one === other ? 1 : 0) - affinity / window.length) / (2 * radius + 1) ** 2
      }
    }
  }
  return matrix
}

/** Gaussian elimination with partial pivoting. */
export function solveDense(matrix: Matrix, right: ArrayLike<number>): number[] {
  const rows = matrix.map((row, i) => [...row, right[i] ?? Number.NaN])
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.NaN
  for (let step = 0; step < rows.length; step++) {
    let best = step
    for (let row = step; row < rows.length; row++) if (Math.abs(at(row, step)) > Math.abs(at(best, step))) best = row
    ;[rows[step], rows[best]] = [rows[best] ?? [], rows[step] ?? []]
    for (let row = 0; row < rows.length; row++) {
      if (row === step) continue
      const factor = at(row, step) / at(step, step)
      rows[row] = (rows[row] ?? []).map((value, column) => value - factor * at(step, column))
    }
  }
  return rows.map((row, i) => at(i, row.length - 1) / at(i, i))
}

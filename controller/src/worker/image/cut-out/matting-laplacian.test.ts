import { describe, expect, it } from 'vitest'
import { buildLaplacian, colourful, gridSize, solveDense } from './matting-laplacian.fixtures.ts'
import { applyLaplacian, mattingLaplacian } from './matting-laplacian.ts'
import { conjugateGradients, multiply } from './refine.ts'
import { listCells } from './window-sums.ts'
import { addRidge, colourCells, measureWindows } from './windows.ts'

const radius = 2
const epsilon = 1e-3
const every = Int32Array.from({ length: gridSize ** 2 }, (_, cell) => cell)
const all = colourCells(colourful, listCells(every, gridSize))
const windows = addRidge(measureWindows(all, all, radius), epsilon)
const matrix = buildLaplacian(radius, epsilon)
const laplacian = mattingLaplacian(windows, all, all)
const apply = (values: Float64Array) => {
  const result = new Float64Array(values.length)
  applyLaplacian(laplacian, values, result)
  return result
}
const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, i) => sum + value * (b[i] ?? Number.NaN), 0)
const pattern = (seed: number) => Float64Array.from(every, (cell) => ((cell * seed) % 97) / 97)

describe('the matting Laplacian', () => {
  it('equals the matrix of its definition', () => {
    const x = pattern(41)
    for (const [i, value] of apply(x).entries()) expect(value).toBeCloseTo(dot(matrix[i] ?? [], x), 9)
  })

  it('is symmetric and never negative', () => {
    const [a, b] = [pattern(41), pattern(29)]
    expect(dot(apply(a), b)).toBeCloseTo(dot(a, apply(b)), 9)
    expect(dot(apply(a), a)).toBeGreaterThan(0)
  })

  it('is zero for a constant', () => {
    for (const value of apply(new Float64Array(every.length).fill(0.7))) expect(value).toBeCloseTo(0, 9)
  })

  it('is nearly zero for linear functions of colour, also at the border', () => {
    const [red] = colourful
    const explained = Float64Array.from(every, (cell) => 0.2 + 0.5 * (red[cell] ?? Number.NaN))
    expect(dot(apply(explained), explained)).toBeLessThan(0.02 * dot(apply(pattern(41)), pattern(41)))
  })

  it('for some cells equals that part of the matrix, with other cells 0 or given', () => {
    const some = Int32Array.from(every.filter((cell) => cell % gridSize > 5 && cell > 40 && cell % 5 !== 0))
    const targets = colourCells(colourful, listCells(some, gridSize))
    const x = pattern(41)
    const own = new Float64Array(some.length)
    const xOfSome = Float64Array.from(some, (cell) => x[cell] ?? Number.NaN)
    applyLaplacian(mattingLaplacian(windows, targets, targets), xOfSome, own)
    const whole = new Float64Array(some.length)
    applyLaplacian(mattingLaplacian(windows, all, targets), x, whole)
    for (const [i, cell] of some.entries()) {
      const row = matrix[cell] ?? []
      const ofSome = [...some].reduce((sum, other) => sum + (row[other] ?? Number.NaN) * (x[other] ?? Number.NaN), 0)
      expect(own[i]).toBeCloseTo(ofSome, 9)
      expect(whole[i]).toBeCloseTo(dot(row, x), 9)
    }
  })
})

describe('conjugate gradients', () => {
  const weights = Float64Array.from(every, (cell) => (cell % 3 === 0 ? 0.3 : 0.01))
  const system = { laplacian, holds: weights, preconditioner: weights.map((weight) => 1 / (weight + 0.5)) }
  const b = pattern(53)
  const exact = solveDense(
    matrix.map((row, i) => row.map((value, j) => value + (i === j ? (weights[i] ?? Number.NaN) : 0))),
    b,
  )
  /** Starts at 0, so the residual is b. The error is in the norm of the matrix, which every step reduces. */
  const solve = (steps: number) => {
    const x = new Float64Array(every.length)
    const residual = b.slice()
    conjugateGradients(system, { x, residual }, steps)
    const off = x.map((value, i) => value - (exact[i] ?? Number.NaN))
    const product = new Float64Array(off.length)
    multiply(system, off, product)
    return { x, residual, error: dot(off, product) }
  }

  it('approach the solution with every step, and reach it', () => {
    const errors = [0, 1, 2, 3, 5, 10, 20].map((steps) => solve(steps).error)
    for (const [i, error] of errors.entries()) if (i > 0) expect(error).toBeLessThan(errors[i - 1] ?? 0)
    // Steepest descent would take several times the steps.
    expect(solve(20).error).toBeLessThan(1e-9 * solve(0).error)
    expect(solve(200).x.every((value, i) => Math.abs(value - (exact[i] ?? Number.NaN)) < 1e-6)).toBe(true)
  })

  it('leave the true residual', () => {
    const { x, residual } = solve(7)
    const product = new Float64Array(x.length)
    multiply(system, x, product)
    for (const [i, left] of residual.entries()) expect(left).toBeCloseTo((b[i] ?? 0) - (product[i] ?? 0), 9)
  })

  it('stop at a zero residual, with finite values', () => {
    const x = new Float64Array(every.length).fill(0.4)
    conjugateGradients(system, { x, residual: new Float64Array(every.length) }, 10)
    expect([...new Set(x)]).toEqual([0.4])
    const nothing = new Float64Array(0)
    const none = colourCells(colourful, listCells(new Int32Array(0), gridSize))
    const empty = { laplacian: mattingLaplacian(windows, none, none), holds: nothing, preconditioner: nothing }
    conjugateGradients(empty, { x: nothing, residual: nothing }, 10)
  })
})

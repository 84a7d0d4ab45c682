import { growCells, haze, type MaskCells } from './mask-cells.ts'
import { applyLaplacian, type Laplacian, mattingLaplacian } from './matting-laplacian.ts'
import type { CellColours } from './sample-cells.ts'
import { type CellList, listCells, numbersPerCell, sumWindows, windowCounts, windowSums } from './window-sums.ts'
import {
  addRidge,
  type ColouredCells,
  colourCells,
  fitWindows,
  measureWindows,
  type RidgeWindows,
  windowFit,
} from './windows.ts'

// Refines the coarse mask by the photo's edges, on the grid, near unsettled cells:
// 1. A guided filter (He, Sun, Tang, ECCV 2010) moves the mask to the edges.
// 2. Closed-form matting (matting-laplacian.ts) recovers hair, fur and holes that the mask blurred.
// 3. A linear model of colour per window carries alpha to the photo's pixels (fast guided filter, He, Sun 2015);
// compose.ts evaluates it.
// docs/quality.md says how the numbers were chosen.

// Cells on either side of a window's centre. One more suits fur, but leaks into textures that subject and background
// share.
const radius = 2
// Variance of colour (0..1) below which a window counts as even; higher values smooth more.
const guidedEpsilon = 1e-3
const epsilon = 1e-5
// Five keep most of the gain; more than ten leak into similar colours.
const mattingSteps = 10
// Weight of the first step's alpha, least where the network is unsure. A constant weight made subjects as textured as
// their background speckled.
const holdLeast = 0.01
const holdSure = 0.05
const holdPower = 8

// Values within the margin of 0 or 1 become 0 or 1.
const guidedMargin = 0.03
const mattingMargin = 0.04
const edgeMargin = 0.01

type Refined = {
  /** 4 floats per cell, a (RGB) and b: alpha (0..255, unclamped) = a . rgb + b. Settled cells have a = 0. */
  readonly coefficients: Float32Array
  readonly alpha: Float32Array
}

export function refine(cells: MaskCells, colours: CellColours): Refined {
  const { gridSize, probability, unsettled } = cells
  const alpha = new Float32Array(gridSize * gridSize)
  for (let cell = 0; cell < alpha.length; cell++) alpha[cell] = stretch(probability[cell] as number, haze)
  const unknown = colourCells(colours, listCells(unsettled, gridSize))
  const middles = listCells(growCells(unsettled, gridSize, radius), gridSize)
  const around = colourCells(colours, listCells(growCells(middles.cells, gridSize, radius), gridSize))
  const windows = measureWindows(around, middles, radius)

  const models = new Float64Array(middles.cells.length * numbersPerCell)
  fitWindows(windowFit(addRidge(windows, guidedEpsilon), around), gather(probability, around), models)
  const guided = evaluate(averageModels(models, middles, unknown), unknown)
  scatter(guided, unknown, { margin: guidedMargin, plane: alpha })

  const sharp = addRidge(windows, epsilon)
  const holds = holdsOf(gather(probability, unknown))
  scatter(solveMatte(sharp, { around, unknown, holds, target: alpha }), unknown, {
    margin: mattingMargin,
    plane: alpha,
  })

  fitWindows(windowFit(sharp, around), gather(alpha, around), models)
  return { alpha, coefficients: toCoefficients(alpha, unknown, averageModels(models, middles, unknown)) }
}

function holdsOf(probabilities: Float64Array): Float64Array {
  return probabilities.map(holdOf)
}

const holdOf = (probability: number): number => holdLeast + holdSure * (2 * probability - 1) ** holdPower

type MatteOptions = {
  readonly around: ColouredCells
  readonly unknown: ColouredCells
  readonly holds: Float64Array
  readonly target: Float32Array
}

/** Solves (L + H) x = H target for the unknown cells: L is the matting Laplacian, H the diagonal of `holds`. */
function solveMatte(windows: RidgeWindows, { around, unknown, holds, target }: MatteOptions): Float64Array {
  const residual = new Float64Array(holds.length)
  applyLaplacian(mattingLaplacian(windows, around, unknown), gather(target, around), residual)
  for (let i = 0; i < residual.length; i++) residual[i] = -(residual[i] as number)
  const laplacian = mattingLaplacian(windows, unknown, unknown)
  const system = { laplacian, holds, preconditioner: holds.map(inverseOfDiagonal) }
  const x = gather(target, unknown)
  conjugateGradients(system, { x, residual }, mattingSteps)
  return x
}

/** Nearly: the diagonal of L is about a half. */
const inverseOfDiagonal = (hold: number): number => 1 / (hold + 0.5)

function toCoefficients(alpha: Float32Array, unknown: CellList, models: Float64Array): Float32Array {
  const coefficients = new Float32Array(alpha.length * numbersPerCell)
  const gain = 1 / (1 - 2 * edgeMargin)
  // Settled cells ignore colour: otherwise a blue emblem on a rocket is cut out with the blue sky.
  for (let cell = 0, b = 3; cell < alpha.length; cell++, b += numbersPerCell) {
    coefficients[b] = ((alpha[cell] as number) - edgeMargin) * gain * 255
  }
  for (let i = 0, from = 0; i < unknown.cells.length; i++, from += numbersPerCell) {
    const to = (unknown.cells[i] as number) * numbersPerCell
    coefficients[to] = (models[from] as number) * gain
    coefficients[to + 1] = (models[from + 1] as number) * gain
    coefficients[to + 2] = (models[from + 2] as number) * gain
    coefficients[to + 3] = ((models[from + 3] as number) - edgeMargin) * gain * 255
  }
  return coefficients
}

/** Averages the models of the nearest nine windows. The paper averages over a whole window, which blurs hair. */
function averageModels(models: Float64Array, middles: CellList, targets: CellList): Float64Array {
  const means = new Float64Array(targets.cells.length * numbersPerCell)
  sumWindows(windowSums(middles, targets, 1), models, means)
  const counts = windowCounts(targets, 1)
  for (let i = 0, at = 0; i < counts.length; i++) {
    const count = counts[i] as number
    for (const end = at + numbersPerCell; at < end; at++) means[at] = (means[at] as number) / count
  }
  return means
}

function evaluate(models: Float64Array, { rgb, cells }: ColouredCells): Float64Array {
  const values = new Float64Array(cells.length)
  for (let i = 0, at = 0, colour = 0; i < cells.length; i++, at += numbersPerCell, colour += 3) {
    values[i] =
      (models[at] as number) * (rgb[colour] as number) +
      (models[at + 1] as number) * (rgb[colour + 1] as number) +
      (models[at + 2] as number) * (rgb[colour + 2] as number) +
      (models[at + 3] as number)
  }
  return values
}

const stretch = (value: number, margin: number) => Math.min(1, Math.max(0, (value - margin) / (1 - 2 * margin)))

function gather(plane: Float32Array, { cells }: CellList): Float64Array {
  const values = new Float64Array(cells.length)
  for (let i = 0; i < cells.length; i++) values[i] = plane[cells[i] as number] as number
  return values
}

function scatter(
  values: Float64Array,
  { cells }: CellList,
  { margin, plane }: { margin: number; plane: Float32Array },
): void {
  for (let i = 0; i < cells.length; i++) plane[cells[i] as number] = stretch(values[i] as number, margin)
}

/** The matrix is the Laplacian plus the diagonal of `holds`. */
type System = {
  readonly laplacian: Laplacian
  readonly holds: Float64Array
  readonly preconditioner: Float64Array
}

export function multiply({ laplacian, holds }: System, vector: Float64Array, product: Float64Array): void {
  applyLaplacian(laplacian, vector, product)
  for (let i = 0; i < product.length; i++) {
    product[i] = (product[i] as number) + (holds[i] as number) * (vector[i] as number)
  }
}

/** Conjugate gradients for A x = b (Hestenes, Stiefel 1952); updates `x` and `residual` (b - A x) in place. */
export function conjugateGradients(
  system: System,
  { x, residual }: { readonly x: Float64Array; readonly residual: Float64Array },
  steps: number,
): void {
  const { preconditioner } = system
  const direction = new Float64Array(x.length)
  const product = new Float64Array(x.length)
  let before = Infinity
  for (let step = 0; step < steps; step++) {
    let size = 0
    for (let i = 0; i < x.length; i++) size += (residual[i] as number) ** 2 * (preconditioner[i] as number)
    const kept = size / before
    before = size
    for (let i = 0; i < x.length; i++) {
      direction[i] = (residual[i] as number) * (preconditioner[i] as number) + kept * (direction[i] as number)
    }
    multiply(system, direction, product)
    let curvature = 0
    for (let i = 0; i < x.length; i++) curvature += (direction[i] as number) * (product[i] as number)
    if (!(curvature > 0)) return
    const length = size / curvature
    for (let i = 0; i < x.length; i++) {
      x[i] = (x[i] as number) + length * (direction[i] as number)
      residual[i] = (residual[i] as number) - length * (product[i] as number)
    }
  }
}

import { growCells, haze, type MaskCells } from '../mask-cells.ts'
import type { CellColours } from '../sample-cells.ts'
import { type ColouredCells, colourCells } from './coloured-cells.ts'
import { conjugateGradients } from './conjugate-gradients.ts'
import { mattingLaplacian } from './matting-laplacian.ts'
import { type CellList, listCells, numbersPerCell, windowCounts, windowSums } from './window-sums.ts'
import { addRidge, fitWindows, measureWindows, type RidgeWindows } from './windows.ts'

// What the network says is as coarse as 320 x 320; the photo has the edges. Three steps, all on the grid, so that their
// cost does not depend on the photo's size, and all near the unsettled cells:
// 1. A guided filter (He, Sun, Tang, ECCV 2010) moves the mask towards the photo's edges.
// 2. Closed-form matting (matting-laplacian.ts) asks for what is best explained by colour in all windows at once, and
//    starts from the first step's result: it finds its way into hair, fur and holes that the mask has blurred over.
// 3. A linear model of colour in small windows takes the grid's alpha to the photo's pixels (as a fast guided filter,
//    He, Sun 2015, does): compose.ts evaluates it at full size and needs no planes of its own.
// Numbers were chosen on the half of the quality bench that is for choosing (A113).

// Cells on either side of the middle of a window: 5 x 5 cells, 3 % of the image's side. One more is better for fur, but
// finds its way into textures that subject and background share.
const radius = 2
// Variances of colour (0..1) up to which a window counts as even: more smooths, less lets texture through.
const guidedEpsilon = 1e-3
const epsilon = 1e-5
// Five keep most of the gain; more than ten follow colours into what shares them.
const mattingSteps = 10
// How much a cell holds on to the first step's alpha: least where the network has no opinion, most where it is sure.
// Without the difference, subjects as textured as their background became speckled.
const holdLeast = 0.01
const holdSure = 0.05
const holdPower = 8

// What comes out of each step within this margin of 0 or 1 is 0 or 1.
const guidedMargin = 0.03
const mattingMargin = 0.04
const edgeMargin = 0.01

type Refined = {
  /**
   * 4 floats a cell: a for red, green, blue, then b, with alpha (0..255, not yet clamped) = a . (r, g, b: 0..255) + b;
   * settled cells have a = 0 and b below 0 or above 255.
   */
  readonly coefficients: Float32Array
  /** Of each cell at its own mean colour, 0..1. */
  readonly alpha: Float32Array
}

/** `colours`: the photo in the same cells as the mask. */
export function refine(cells: MaskCells, colours: CellColours): Refined {
  const { gridSize, probability, unsettled } = cells
  const alpha = new Float32Array(gridSize * gridSize)
  for (let cell = 0; cell < alpha.length; cell++) alpha[cell] = stretch(probability[cell] as number, haze)
  const unknown = colourCells(colours, listCells(unsettled, gridSize))
  const middles = listCells(growCells(unsettled, gridSize, radius), gridSize)
  const around = colourCells(colours, listCells(growCells(middles.cells, gridSize, radius), gridSize))
  const windows = measureWindows(around, middles, radius)

  const models = new Float64Array(middles.cells.length * numbersPerCell)
  fitWindows(addRidge(windows, guidedEpsilon), around)(gather(probability, around), models)
  const guided = evaluate(averageModels(models, middles, unknown), unknown)
  scatter(guided, unknown, { margin: guidedMargin, plane: alpha })

  const sharp = addRidge(windows, epsilon)
  const holds = holdsOf(gather(probability, unknown))
  scatter(solveMatte(sharp, { around, unknown, holds, target: alpha }), unknown, {
    margin: mattingMargin,
    plane: alpha,
  })

  fitWindows(sharp, around)(gather(alpha, around), models)
  return { alpha, coefficients: toCoefficients(alpha, unknown, averageModels(models, middles, unknown)) }
}

function holdsOf(probabilities: Float64Array): Float64Array {
  return probabilities.map((probability) => holdLeast + holdSure * (2 * probability - 1) ** holdPower)
}

type MatteOptions = {
  readonly around: ColouredCells
  readonly unknown: ColouredCells
  /** Of each unknown cell. */
  readonly holds: Float64Array
  readonly target: Float32Array
}

/**
 * The x of the unknown cells with (L + H) x = H target, L the matting Laplacian and H the holds on the diagonal; all
 * other cells are what they are in `target`. Solved for how far x is from the target.
 */
function solveMatte(windows: RidgeWindows, { around, unknown, holds, target }: MatteOptions): Float64Array {
  const residual = new Float64Array(holds.length)
  mattingLaplacian(windows, around, unknown)(gather(target, around), residual)
  for (let i = 0; i < residual.length; i++) residual[i] = -(residual[i] as number)
  const laplacian = mattingLaplacian(windows, unknown, unknown)
  const system = {
    multiply: (vector: Float64Array, product: Float64Array) => {
      laplacian(vector, product)
      for (let i = 0; i < product.length; i++) {
        product[i] = (product[i] as number) + (holds[i] as number) * (vector[i] as number)
      }
    },
    // The Laplacian's own diagonal is about one half.
    preconditioner: holds.map((hold) => 1 / (hold + 0.5)),
  }
  const x = gather(target, unknown)
  conjugateGradients(system, { x, residual }, mattingSteps)
  return x
}

/** `models`: of the unknown cells, for colours and alpha of 0..1. */
function toCoefficients(alpha: Float32Array, unknown: CellList, models: Float64Array): Float32Array {
  const coefficients = new Float32Array(alpha.length * numbersPerCell)
  const gain = 1 / (1 - 2 * edgeMargin)
  // Where the network is sure of a cell and its neighbours, colour has no say: else a blue emblem on a rocket would be
  // cut out together with the blue sky, and the grain of a table top taken for part of the cup on it.
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

/**
 * A pixel lies in many windows; what holds for it is the mean of their models, here of the nearest nine. He averages
 * over a whole window, which blurs hair.
 */
function averageModels(models: Float64Array, middles: CellList, targets: CellList): Float64Array {
  const means = new Float64Array(targets.cells.length * numbersPerCell)
  windowSums(middles, targets, 1)(models, means)
  const counts = windowCounts(targets, 1)
  for (let i = 0; i < means.length; i++)
    means[i] = (means[i] as number) / (counts[Math.floor(i / numbersPerCell)] as number)
  return means
}

/** What the models make of the cells' own colours. */
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

/** What lies between `margin` and 1 - `margin` becomes 0..1. */
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

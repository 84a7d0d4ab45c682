import { numbersPerCell, sumWindows, type WindowSums, windowCounts, windowSums } from './window-sums.ts'
import { type ColouredCells, fitWindows, type RidgeWindows, type WindowFit, windowFit } from './windows.ts'

// Matting Laplacian L (Levin, Lischinski, Weiss: A Closed-Form Solution to Natural Image Matting, PAMI 2008). x' L x
// measures how badly a linear function of colour explains x in small windows. The matrix is never built: L x is what
// the windows' fits leave unexplained (He, Sun, Tang, CVPR 2010):
//   (L x)_i = (n_i x_i - (sum of a_k) . rgb_i - sum of b_k) / n, over the n_i windows k that hold i
// Window sums make the cost independent of the window's size.

/** Prepared once per image; `targets` are a subset of the sources, and other cells count as 0. */
export type Laplacian = {
  readonly fit: WindowFit
  readonly models: Float64Array
  readonly sum: WindowSums
  readonly sums: Float64Array
  readonly counts: Float32Array
  /** Places of the targets in the list of sources. */
  readonly places: Int32Array
  readonly rgb: Float32Array
  readonly scale: number
}

export function mattingLaplacian(windows: RidgeWindows, sources: ColouredCells, targets: ColouredCells): Laplacian {
  const { middles, radius } = windows
  return {
    fit: windowFit(windows, sources),
    models: new Float64Array(middles.cells.length * numbersPerCell),
    sum: windowSums(middles, targets, radius),
    sums: new Float64Array(targets.cells.length * numbersPerCell),
    counts: windowCounts(targets, radius),
    places: placesOf(targets.cells, sources.cells),
    rgb: targets.rgb,
    scale: 1 / (2 * radius + 1) ** 2,
  }
}

/** Writes L x for the targets. */
export function applyLaplacian(laplacian: Laplacian, values: Float64Array, result: Float64Array): void {
  const { fit, models, sum, sums, counts, places, rgb, scale } = laplacian
  fitWindows(fit, values, models)
  sumWindows(sum, models, sums)
  for (let i = 0, at = 0, colour = 0; i < counts.length; i++, at += numbersPerCell, colour += 3) {
    const explained =
      (sums[at] as number) * (rgb[colour] as number) +
      (sums[at + 1] as number) * (rgb[colour + 1] as number) +
      (sums[at + 2] as number) * (rgb[colour + 2] as number) +
      (sums[at + 3] as number)
    result[i] = ((counts[i] as number) * (values[places[i] as number] as number) - explained) * scale
  }
}

function placesOf(some: Int32Array, all: Int32Array): Int32Array {
  const places = new Int32Array(some.length)
  for (let i = 0, place = 0; i < some.length; i++) {
    while ((all[place] as number) < (some[i] as number)) place++
    places[i] = place
  }
  return places
}

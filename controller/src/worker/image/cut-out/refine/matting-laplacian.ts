import type { ColouredCells } from './coloured-cells.ts'
import { numbersPerCell, windowCounts, windowSums } from './window-sums.ts'
import { fitWindows, type RidgeWindows } from './windows.ts'

// The matting Laplacian (Levin, Lischinski, Weiss: A Closed-Form Solution to Natural Image Matting, PAMI 2008):
// x' L x is how badly values x are explained, in all small windows together, as a linear function of the photo's
// colour. Its matrix is never built: L x is a fit of x in each window, then for each cell what the fits of all windows
// that hold it leave unexplained (He, Sun, Tang: Fast Matting Using Large Kernel Matting Laplacians, CVPR 2010):
//   (L x)_i = (n_i x_i - (sum of a_k) . rgb_i - sum of b_k) / n, over the n_i windows k that hold i
// Both are sums over windows, so large windows cost as much as small ones; n, the cells of a whole window, only scales.

/**
 * A function that writes L x for each of `targets`, some of the `sources`, from values of the sources; a cell that is
 * no source counts as 0. The windows are all that hold a target, at least.
 */
export function mattingLaplacian(windows: RidgeWindows, sources: ColouredCells, targets: ColouredCells) {
  const { middles, radius } = windows
  const fit = fitWindows(windows, sources)
  const models = new Float64Array(middles.cells.length * numbersPerCell)
  const sum = windowSums(middles, targets, radius)
  const sums = new Float64Array(targets.cells.length * numbersPerCell)
  const counts = windowCounts(targets, radius)
  const places = placesOf(targets.cells, sources.cells)
  const scale = 1 / (2 * radius + 1) ** 2
  const { rgb } = targets
  return function apply(values: Float64Array, result: Float64Array): void {
    fit(values, models)
    sum(models, sums)
    for (let i = 0, at = 0, colour = 0; i < counts.length; i++, at += numbersPerCell, colour += 3) {
      const explained =
        (sums[at] as number) * (rgb[colour] as number) +
        (sums[at + 1] as number) * (rgb[colour + 1] as number) +
        (sums[at + 2] as number) * (rgb[colour + 2] as number) +
        (sums[at + 3] as number)
      result[i] = ((counts[i] as number) * (values[places[i] as number] as number) - explained) * scale
    }
  }
}

/** Where in `all` each of `some` is; both ascend. */
function placesOf(some: Int32Array, all: Int32Array): Int32Array {
  const places = new Int32Array(some.length)
  for (let i = 0, place = 0; i < some.length; i++) {
    while ((all[place] as number) < (some[i] as number)) place++
    places[i] = place
  }
  return places
}

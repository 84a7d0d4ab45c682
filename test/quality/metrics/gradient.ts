// Gradient error of the alpha matting benchmark (Rhemann et al., CVPR 2009): the difference in sharpness of edges.
// Filters and border follow its evaluation code.

const sigma = 1.4
// Distance at which the derivative falls below a hundredth: 4 pixels.
const radius = Math.ceil(sigma * Math.sqrt(-2 * Math.log(Math.sqrt(2 * Math.PI) * sigma * 0.01)))

const offsets = Array.from({ length: 2 * radius + 1 }, (_, i) => i - radius)
const bell = offsets.map((x) => Math.exp(-(x * x) / (2 * sigma * sigma)) / (sigma * Math.sqrt(2 * Math.PI)))
const slope = offsets.map((x, i) => (-x * (bell[i] as number)) / (sigma * sigma))
const lengthOf = (values: readonly number[]): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
/** Both factors have length 1, and so does the two-dimensional filter. */
const smoothing = Float64Array.from(bell, (value) => value / lengthOf(bell))
const derivative = Float64Array.from(slope, (value) => value / lengthOf(slope))

/** The sum of squared differences of the gradients' lengths, alphas 0..1. Published tables show it over 1000. */
export function gradientError(truth: Float32Array, alpha: Float32Array, width: number): number {
  const wanted = gradientLength(truth, width)
  const found = gradientLength(alpha, width)
  let sum = 0
  for (let i = 0; i < wanted.length; i++) sum += ((found[i] as number) - (wanted[i] as number)) ** 2
  return sum
}

function gradientLength(plane: Float32Array, width: number): Float32Array {
  const across = filterColumns(filterRows(plane, width, derivative), width, smoothing)
  const down = filterColumns(filterRows(plane, width, smoothing), width, derivative)
  for (let i = 0; i < across.length; i++) across[i] = Math.hypot(across[i] as number, down[i] as number)
  return across
}

/** Repeats the nearest pixel beyond the border. */
function filterRows(plane: Float32Array, width: number, taps: Float64Array): Float32Array {
  const result = new Float32Array(plane.length)
  const padded = new Float32Array(width + 2 * radius)
  for (let row = 0; row < plane.length; row += width) {
    padded.fill(plane[row] as number, 0, radius)
    padded.set(plane.subarray(row, row + width), radius)
    padded.fill(plane[row + width - 1] as number, radius + width)
    for (let x = 0; x < width; x++) {
      let sum = 0
      for (let tap = 0; tap < taps.length; tap++) sum += (taps[tap] as number) * (padded[x + tap] as number)
      result[row + x] = sum
    }
  }
  return result
}

function filterColumns(plane: Float32Array, width: number, taps: Float64Array): Float32Array {
  const result = new Float32Array(plane.length)
  const last = plane.length - width
  for (let row = 0; row < plane.length; row += width) {
    for (let tap = 0; tap < taps.length; tap++) {
      const weight = taps[tap] as number
      const from = Math.min(last, Math.max(0, row + (tap - radius) * width))
      for (let x = 0; x < width; x++) {
        result[row + x] = (result[row + x] as number) + weight * (plane[from + x] as number)
      }
    }
  }
  return result
}

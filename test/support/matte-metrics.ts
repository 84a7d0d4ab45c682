// Quality of a matte against the true one. A matte has one byte per pixel (alpha, 0 to 255), row by row.

export type Matte = { readonly alpha: Uint8Array; readonly width: number; readonly height: number }

/** Soft intersection over union, sum of minima / sum of maxima: 1 if equal or both empty, 0 if disjoint. */
export function softIou(matte: Matte, truth: Matte): number {
  let shared = 0
  let either = 0
  for (const [a, b] of pairs(matte, truth)) {
    shared += Math.min(a, b)
    either += Math.max(a, b)
  }
  return either === 0 ? 1 : shared / either
}

/** Mean absolute error, 0 to 1. */
export function mae(matte: Matte, truth: Matte): number {
  let sum = 0
  for (const [a, b] of pairs(matte, truth)) sum += Math.abs(a - b)
  return sum / 255 / truth.alpha.length
}

// Rhemann et al. 2009, who introduced the measure with their benchmark.
const gradientSigma = 1.4

/**
 * Sum over all pixels of the squared difference of gradient magnitudes (alpha 0 to 1, first derivatives of a Gaussian
 * of 1.4 pixels). Measures position and softness of edges. Lower is better; values compare for the same image only.
 */
export function gradientError(matte: Matte, truth: Matte): number {
  checkSameSize(matte, truth)
  const ours = gradientMagnitude(matte)
  const theirs = gradientMagnitude(truth)
  return ours.reduce((sum, magnitude, i) => sum + (magnitude - (theirs[i] ?? Number.NaN)) ** 2, 0)
}

/**
 * Stretches a square mask (one byte per pixel) over an image, bilinearly between pixel centres: a matte without
 * refinement.
 */
export function stretchMask(mask: Uint8Array, width: number, height: number): Matte {
  const size = Math.sqrt(mask.length)
  const alpha = new Uint8Array(width * height)
  for (let y = 0; y < height; y++) {
    const [top, bottom, down] = between(y, height, size)
    for (let x = 0; x < width; x++) {
      const [left, right, across] = between(x, width, size)
      const at = (row: number, column: number) => mask[row * size + column] ?? Number.NaN
      const upper = at(top, left) * (1 - across) + at(top, right) * across
      const lower = at(bottom, left) * (1 - across) + at(bottom, right) * across
      alpha[y * width + x] = Math.round(upper * (1 - down) + lower * down)
    }
  }
  return { alpha, width, height }
}

function between(position: number, length: number, size: number): [low: number, high: number, share: number] {
  const source = Math.min(size - 1, Math.max(0, ((position + 0.5) * size) / length - 0.5))
  return [Math.floor(source), Math.min(size - 1, Math.floor(source) + 1), source - Math.floor(source)]
}

function* pairs(matte: Matte, truth: Matte): Generator<[number, number]> {
  checkSameSize(matte, truth)
  for (const [i, alpha] of matte.alpha.entries()) yield [alpha, truth.alpha[i] ?? Number.NaN]
}

function checkSameSize(a: Matte, b: Matte): void {
  const sizes = [a, b].map(({ alpha, width, height }) => `${width} x ${height}, ${alpha.length} bytes`)
  if (sizes[0] !== sizes[1]) throw new RangeError(`cannot compare ${sizes.join(' with ')}`)
}

function gradientMagnitude({ alpha, width, height }: Matte): Float64Array {
  const { smooth, derive } = gaussianKernels()
  const plane = Float64Array.from(alpha, (value) => value / 255)
  const across = convolve(convolve(plane, width, height, derive, 1, 0), width, height, smooth, 0, 1)
  const down = convolve(convolve(plane, width, height, smooth, 1, 0), width, height, derive, 0, 1)
  return across.map((value, i) => Math.hypot(value, down[i] ?? Number.NaN))
}

function gaussianKernels() {
  const radius = Math.ceil(4 * gradientSigma)
  const steps = Array.from({ length: 2 * radius + 1 }, (_, i) => i - radius)
  const weights = steps.map((step) => Math.exp(-(step ** 2) / (2 * gradientSigma ** 2)))
  const total = weights.reduce((a, b) => a + b)
  const smooth = weights.map((weight) => weight / total)
  return { smooth, derive: smooth.map((weight, i) => ((steps[i] ?? 0) / gradientSigma ** 2) * weight) }
}

/** Filters along one axis, (1, 0) or (0, 1); mirrors the image beyond its border. */
function convolve(plane: Float64Array, width: number, height: number, kernel: number[], dx: number, dy: number) {
  const radius = (kernel.length - 1) / 2
  const result = new Float64Array(plane.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let sum = 0
      for (let step = -radius; step <= radius; step++) {
        const source = mirror(y + step * dy, height) * width + mirror(x + step * dx, width)
        sum += (kernel[step + radius] as number) * (plane[source] as number)
      }
      result[y * width + x] = sum
    }
  }
  return result
}

function mirror(position: number, length: number): number {
  if (position < 0) return mirror(-1 - position, length)
  return position < length ? position : mirror(2 * length - 1 - position, length)
}

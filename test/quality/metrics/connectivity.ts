// Connectivity error of the alpha matting benchmark: pixels detached from the body, or wrongly attached to it. The
// body at each step of alpha is the largest piece common to both; a pixel is connected up to the last step at which it
// belongs to the body.

const steps = 10
/** Smaller distances from the body's level count as none. */
const tolerance = 0.15

/** The sum over all pixels, alphas 0..1. Published tables show it over 1000. */
export function connectivityError(truth: Float32Array, alpha: Float32Array, width: number): number {
  const levels = new Float32Array(truth.length).fill(1)
  const isLoose = new Uint8Array(truth.length)
  const pieces = createPieces(truth.length, width)
  for (let step = 1; step <= steps; step++) {
    const threshold = step / steps
    for (let i = 0; i < truth.length; i++) {
      // As doubles: in 32 bits, 0.6 is above 0.6.
      pieces.inside[i] = atLeast(truth[i] as number, threshold) && atLeast(alpha[i] as number, threshold) ? 1 : 0
    }
    pieces.keepLargest()
    for (let i = 0; i < truth.length; i++) {
      if (pieces.inside[i] === kept || isLoose[i] === 1) continue
      isLoose[i] = 1
      levels[i] = (step - 1) / steps
    }
  }
  let sum = 0
  for (let i = 0; i < truth.length; i++) {
    const level = levels[i] as number
    sum += Math.abs(distance(alpha[i] as number, level) - distance(truth[i] as number, level))
  }
  return sum
}

const atLeast = (value: number, threshold: number): boolean => value >= threshold - 1e-6

const distance = (value: number, level: number): number => (value - level >= tolerance ? value - level : 0)

const kept = 3

/** `inside` is 0 or 1; `keepLargest` marks the largest piece as `kept`. Neighbours are up, down, left and right. */
function createPieces(length: number, width: number) {
  const inside = new Uint8Array(length)
  const stack = new Int32Array(length)
  /** Marks the piece around `start` and returns its size. */
  const flood = (start: number, from: number, to: number): number => {
    let [top, count] = [0, 0]
    const push = (i: number): void => {
      inside[i] = to
      stack[top++] = i
    }
    push(start)
    while (top > 0) {
      const i = stack[--top] as number
      count++
      const x = i % width
      if (x > 0 && inside[i - 1] === from) push(i - 1)
      if (x < width - 1 && inside[i + 1] === from) push(i + 1)
      if (i >= width && inside[i - width] === from) push(i - width)
      if (i + width < length && inside[i + width] === from) push(i + width)
    }
    return count
  }
  return {
    inside,
    keepLargest(): void {
      let [largest, start] = [0, -1]
      for (let i = 0; i < length; i++) {
        if (inside[i] !== 1) continue
        const count = flood(i, 1, 2)
        if (count > largest) [largest, start] = [count, i]
      }
      if (start >= 0) flood(start, 2, kept)
    },
  }
}

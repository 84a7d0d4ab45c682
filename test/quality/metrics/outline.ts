// Comparison of two masks cut at one half: area and boundary.

/** Intersection over union; 1 when both are empty. */
export function intersectionOverUnion(truth: Float32Array, alpha: Float32Array): number {
  let [both, either] = [0, 0]
  for (let i = 0; i < truth.length; i++) {
    const [wanted, found] = [(truth[i] as number) >= 0.5, (alpha[i] as number) >= 0.5]
    if (wanted && found) both++
    if (wanted || found) either++
  }
  return either === 0 ? 1 : both / either
}

/** Share of the diagonal: 2 pixels at 0.3 megapixels, 10 at 12. A quarter of what video benchmarks allow. */
const toleranceShare = 0.002

/**
 * F-measure of the boundary: the harmonic mean of the share of the found line that is near the true one, and the
 * reverse. Near is within a square of `toleranceShare`; 1 when neither has a line.
 */
export function boundaryScore(truth: Float32Array, alpha: Float32Array, width: number): number {
  const height = truth.length / width
  const reach = Math.max(1, Math.round(toleranceShare * Math.hypot(width, height)))
  const [wanted, found] = [boundaryOf(truth, width), boundaryOf(alpha, width)]
  const precision = shareWithin(found, grow(wanted, width, reach))
  const recall = shareWithin(wanted, grow(found, width, reach))
  if (precision === undefined && recall === undefined) return 1
  if (!precision || !recall) return 0
  return (2 * precision * recall) / (precision + recall)
}

/** Pixels inside with a 4-neighbour outside. */
function boundaryOf(alpha: Float32Array, width: number): Uint8Array {
  const line = new Uint8Array(alpha.length)
  const isOutside = (i: number): boolean => (alpha[i] as number) < 0.5
  for (let i = 0; i < alpha.length; i++) {
    if (isOutside(i)) continue
    const x = i % width
    const beside = (x > 0 && isOutside(i - 1)) || (x < width - 1 && isOutside(i + 1))
    if (beside || (i >= width && isOutside(i - width)) || (i + width < alpha.length && isOutside(i + width)))
      line[i] = 1
  }
  return line
}

/** Every pixel with one of `flags` at most `reach` pixels away, along both axes. */
function grow(flags: Uint8Array, width: number, reach: number): Uint8Array {
  return growAlong(growAlong(flags, reach, { length: width, step: 1 }), reach, {
    length: flags.length / width,
    step: width,
  })
}

function growAlong(flags: Uint8Array, reach: number, { length, step }: { length: number; step: number }): Uint8Array {
  const result = new Uint8Array(flags.length)
  const lines = flags.length / length
  for (let line = 0; line < lines; line++) {
    const start = step === 1 ? line * length : line
    // The nearest flag before and after, in two passes.
    for (let at = 0, last = -Infinity; at < length; at++) {
      if (flags[start + at * step]) last = at
      if (at - last <= reach) result[start + at * step] = 1
    }
    for (let at = length - 1, last = Infinity; at >= 0; at--) {
      if (flags[start + at * step]) last = at
      if (last - at <= reach) result[start + at * step] = 1
    }
  }
  return result
}

function shareWithin(line: Uint8Array, area: Uint8Array): number | undefined {
  let [all, within] = [0, 0]
  for (let i = 0; i < line.length; i++) {
    if (line[i] === 0) continue
    all++
    if (area[i]) within++
  }
  return all === 0 ? undefined : within / all
}

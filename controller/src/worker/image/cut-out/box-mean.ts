/**
 * Means over square windows on a square grid, clipped at its border: a loop that the colour field spends its time in.
 * The cost does not depend on the radius: a running sum down each column, then differences of prefix sums along each
 * row, in double precision so that what has passed leaves no trace. With `weight`, the means are those of
 * `source * weight`.
 */
export function boxMean(source: Float32Array, size: number, radius: number, weight?: Float32Array): Float32Array {
  const values = weight === undefined ? source : product(source, weight)
  const target = new Float32Array(source.length)
  const columns = new Float64Array(size)
  const prefix = new Float64Array(size + 1)
  for (let y = -radius; y < size; y++) {
    slideDown(columns, values, size, y + radius, y - radius - 1)
    if (y < 0) continue
    let sum = 0
    for (let x = 0; x < size; x++) {
      sum += columns[x] as number
      prefix[x + 1] = sum
    }
    const height = Math.min(size - 1, y + radius) - Math.max(0, y - radius) + 1
    averageRow(prefix, radius, height, target, y * size)
  }
  return target
}

/** Rows outside the grid are empty. */
function slideDown(columns: Float64Array, values: Float32Array, size: number, entering: number, leaving: number): void {
  if (entering < size) {
    for (let x = 0, i = entering * size; x < size; x++, i++) {
      columns[x] = (columns[x] as number) + (values[i] as number)
    }
  }
  if (leaving >= 0) {
    for (let x = 0, i = leaving * size; x < size; x++, i++) {
      columns[x] = (columns[x] as number) - (values[i] as number)
    }
  }
}

function averageRow(prefix: Float64Array, radius: number, height: number, target: Float32Array, offset: number): void {
  const size = prefix.length - 1
  const inside = Math.max(radius, size - radius)
  const scale = 1 / ((2 * radius + 1) * height)
  for (let x = radius; x < inside; x++) {
    target[offset + x] = ((prefix[x + radius + 1] as number) - (prefix[x - radius] as number)) * scale
  }
  for (let x = 0; x < Math.min(radius, size); x++) {
    const to = Math.min(size, x + radius + 1)
    target[offset + x] = (prefix[to] as number) / (to * height)
  }
  for (let x = inside; x < size; x++) {
    const from = Math.max(0, x - radius)
    target[offset + x] = ((prefix[size] as number) - (prefix[from] as number)) / ((size - from) * height)
  }
}

function product(a: Float32Array, b: Float32Array): Float32Array {
  const result = new Float32Array(a.length)
  for (let i = 0; i < result.length; i++) result[i] = (a[i] as number) * (b[i] as number)
  return result
}

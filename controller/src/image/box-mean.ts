/**
 * Means over square windows on a square grid, clipped at its border: the loop that the guided filter and the colour
 * field spend their time in. The cost does not depend on the radius: a running sum down each column, then differences of
 * prefix sums along each row, in double precision so that what has passed leaves no trace.
 * Reading a typed array is `number | undefined` to the checker; every index is bounded by the grid.
 */
export function boxMean(source: Float32Array, size: number, radius: number): Float32Array {
  const target = new Float32Array(source.length)
  const columns = new Float64Array(size)
  const prefix = new Float64Array(size + 1)
  const outside = new Float32Array(size)
  const row = (y: number) => (y >= 0 && y < size ? source.subarray(y * size, (y + 1) * size) : outside)
  for (let y = -radius; y < size; y++) {
    slideDown(columns, row(y + radius), row(y - radius - 1), prefix)
    if (y < 0) continue
    const height = Math.min(size - 1, y + radius) - Math.max(0, y - radius) + 1
    averageRow(prefix, radius, height, target.subarray(y * size, (y + 1) * size))
  }
  return target
}

function slideDown(columns: Float64Array, entering: Float32Array, leaving: Float32Array, prefix: Float64Array): void {
  let sum = 0
  for (let x = 0; x < columns.length; x++) {
    const column = (columns[x] as number) + (entering[x] as number) - (leaving[x] as number)
    columns[x] = column
    sum += column
    prefix[x + 1] = sum
  }
}

function averageRow(prefix: Float64Array, radius: number, height: number, target: Float32Array): void {
  const size = target.length
  const inside = Math.max(radius, size - radius)
  const scale = 1 / ((2 * radius + 1) * height)
  for (let x = radius; x < inside; x++) {
    target[x] = ((prefix[x + radius + 1] as number) - (prefix[x - radius] as number)) * scale
  }
  for (let x = 0; x < Math.min(radius, size); x++) {
    const to = Math.min(size, x + radius + 1)
    target[x] = (prefix[to] as number) / (to * height)
  }
  for (let x = inside; x < size; x++) {
    const from = Math.max(0, x - radius)
    target[x] = ((prefix[size] as number) - (prefix[from] as number)) / ((size - from) * height)
  }
}

/** Cell by cell. */
export function product(a: Float32Array, b: Float32Array): Float32Array {
  const result = new Float32Array(a.length)
  for (let i = 0; i < result.length; i++) result[i] = (a[i] as number) * (b[i] as number)
  return result
}

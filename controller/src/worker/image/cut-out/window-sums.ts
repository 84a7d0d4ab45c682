// Sums over square windows of a sparse grid, four numbers per cell (a fixed-length loop is several times faster).
// Running sums make the cost independent of the radius; double precision keeps rounding errors from building up.

export type CellList = {
  readonly gridSize: number
  readonly cells: Int32Array
  /** Row y has the entries `rowStarts[y]` up to `rowStarts[y + 1]`. */
  readonly rowStarts: Int32Array
}

export const numbersPerCell = 4

export function listCells(cells: Int32Array, gridSize: number): CellList {
  const rowStarts = new Int32Array(gridSize + 1)
  let next = 0
  for (let y = 0; y <= gridSize; y++) {
    while (next < cells.length && (cells[next] as number) < y * gridSize) next++
    rowStarts[y] = next
  }
  return { gridSize, cells, rowStarts }
}

export function windowCounts({ gridSize, cells }: CellList, radius: number): Float32Array {
  const counts = new Float32Array(cells.length)
  for (let i = 0; i < cells.length; i++) {
    const x = (cells[i] as number) % gridSize
    const y = ((cells[i] as number) - x) / gridSize
    const width = Math.min(gridSize - 1, x + radius) - Math.max(0, x - radius) + 1
    const height = Math.min(gridSize - 1, y + radius) - Math.max(0, y - radius) + 1
    counts[i] = width * height
  }
  return counts
}

/** Prepared once per pair of lists, for any number of values. No closure: V8 compiles each new one again. */
export type WindowSums = {
  readonly sources: CellList
  readonly targets: CellList
  readonly radius: number
  /** Sums over the rows of the window, with empty columns on either side, which save border checks. */
  readonly columns: Float64Array
}

export const windowSums = (sources: CellList, targets: CellList, radius: number): WindowSums => ({
  sources,
  targets,
  radius,
  columns: new Float64Array((sources.gridSize + 2 * radius + 1) * numbersPerCell),
})

/** Writes the sum over each target's window, four numbers per cell in list order. */
export function sumWindows(plan: WindowSums, values: Float64Array, sums: Float64Array): void {
  const { sources, radius, columns } = plan
  const { gridSize } = sources
  columns.fill(0)
  for (let y = -radius; y < gridSize; y++) {
    if (y + radius < gridSize) addRow(plan, values, y + radius, 1)
    if (y > radius) addRow(plan, values, y - radius - 1, -1)
    if (y >= 0) sumRow(plan, sums, y)
  }
}

function addRow({ sources, radius, columns }: WindowSums, values: Float64Array, y: number, sign: 1 | -1): void {
  const { gridSize, cells, rowStarts } = sources
  const to = rowStarts[y + 1] as number
  const offset = radius + 1 - y * gridSize
  for (let i = rowStarts[y] as number; i < to; i++) {
    const column = ((cells[i] as number) + offset) * numbersPerCell
    const value = i * numbersPerCell
    columns[column] = (columns[column] as number) + sign * (values[value] as number)
    columns[column + 1] = (columns[column + 1] as number) + sign * (values[value + 1] as number)
    columns[column + 2] = (columns[column + 2] as number) + sign * (values[value + 2] as number)
    columns[column + 3] = (columns[column + 3] as number) + sign * (values[value + 3] as number)
  }
}

function sumRow({ targets, radius, columns }: WindowSums, sums: Float64Array, y: number): void {
  const { gridSize, cells, rowStarts } = targets
  const to = rowStarts[y + 1] as number
  const span = (2 * radius + 1) * numbersPerCell
  let end = -1
  let sum0 = 0
  let sum1 = 0
  let sum2 = 0
  let sum3 = 0
  for (let i = rowStarts[y] as number; i < to; i++) {
    const start = ((cells[i] as number) - y * gridSize + 1) * numbersPerCell
    if (start + span === end + numbersPerCell) {
      const leaving = start - numbersPerCell
      sum0 += (columns[end] as number) - (columns[leaving] as number)
      sum1 += (columns[end + 1] as number) - (columns[leaving + 1] as number)
      sum2 += (columns[end + 2] as number) - (columns[leaving + 2] as number)
      sum3 += (columns[end + 3] as number) - (columns[leaving + 3] as number)
    } else {
      sum0 = sum1 = sum2 = sum3 = 0
      for (let column = start; column < start + span; column += numbersPerCell) {
        sum0 += columns[column] as number
        sum1 += columns[column + 1] as number
        sum2 += columns[column + 2] as number
        sum3 += columns[column + 3] as number
      }
    }
    end = start + span
    const sum = i * numbersPerCell
    sums[sum] = sum0
    sums[sum + 1] = sum1
    sums[sum + 2] = sum2
    sums[sum + 3] = sum3
  }
}

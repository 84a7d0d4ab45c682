// The network's mask on the working grid, and the cells that need refinement.

export type MaskCells = {
  readonly gridSize: number
  readonly probability: Float32Array
  /** Cells where the network is unsure or changes its mind, and their neighbours; ascending indices. */
  readonly unsettled: Int32Array
  readonly near: Int32Array
}

// Largest grid side, to bound time and memory. A mask whose side is not a multiple of 8 keeps cells of 2 pixels: side
// 2044 takes 900 MB (modelBytes) and seconds.
const gridSizeMax = 256

/** For 320, a finer grid gained nothing at four times the cost; a coarser one cut into the logos on rocket.jpg. */
export function maskPixelsPerCell(maskSize: number): number {
  let pixels = 2
  while (maskSize / pixels > gridSizeMax && maskSize % (pixels * 4) === 0) pixels *= 2
  return pixels
}

/** Alpha up to this is clear, and from 1 minus this solid. */
export const haze = 0.05

/** `best`, the mask's highest value, becomes 1: a subject that the network is 70 % sure of is not 30 % transparent. */
export function toMaskCells(mask: Uint8Array, maskSize: number, best: number): MaskCells {
  const side = maskPixelsPerCell(maskSize)
  const gridSize = maskSize / side
  const probability = new Float32Array(gridSize * gridSize)
  const scale = 1 / (best * side * side)
  for (let y = 0; y < gridSize; y++) {
    for (let x = 0; x < gridSize; x++) probability[y * gridSize + x] = sumOf(mask, maskSize, { x, y, side }) * scale
  }
  const unsettled = growCells(findDoubtful(probability, gridSize), gridSize, 1)
  return { gridSize, probability, unsettled, near: growCells(unsettled, gridSize, 1) }
}

function sumOf(mask: Uint8Array, maskSize: number, { x, y, side }: { x: number; y: number; side: number }): number {
  let sum = 0
  for (let row = y * side; row < (y + 1) * side; row++) {
    for (let i = row * maskSize + x * side, end = i + side; i < end; i++) sum += mask[i] as number
  }
  return sum
}

/** A cell is settled if it and its neighbours are all clear or all solid. */
function findDoubtful(probability: Float32Array, gridSize: number): Int32Array {
  const flags = new Uint8Array(probability.length)
  for (let cell = 0; cell < probability.length; cell++) {
    const value = probability[cell] as number
    flags[cell] = (value > haze ? something : 0) | (value < 1 - haze ? lacking : 0)
  }
  const around = dilate(flags, gridSize)
  for (let cell = 0; cell < around.length; cell++) around[cell] = around[cell] === (something | lacking) ? 1 : 0
  return indicesOf(around)
}

const something = 1
const lacking = 2

/** Bitwise OR over each cell's 3 x 3 neighbourhood. */
function dilate(flags: Uint8Array, gridSize: number): Uint8Array {
  const result = new Uint8Array(flags.length)
  const columns = new Uint8Array(gridSize + 2)
  for (let y = 0; y < gridSize; y++) {
    const above = Math.max(0, y - 1) * gridSize
    const here = y * gridSize
    const below = Math.min(gridSize - 1, y + 1) * gridSize
    for (let x = 0; x < gridSize; x++) {
      columns[x + 1] = (flags[above + x] as number) | (flags[here + x] as number) | (flags[below + x] as number)
    }
    for (let x = 0; x < gridSize; x++) {
      result[here + x] = (columns[x] as number) | (columns[x + 1] as number) | (columns[x + 2] as number)
    }
  }
  return result
}

function indicesOf(flags: Uint8Array): Int32Array {
  const indices = new Int32Array(flags.length)
  let count = 0
  for (let cell = 0; cell < flags.length; cell++) if (flags[cell]) indices[count++] = cell
  return indices.slice(0, count)
}

export function growCells(cells: Int32Array, gridSize: number, radius: number): Int32Array {
  const columns = new Uint8Array(gridSize * gridSize)
  const step = radius * gridSize
  for (const cell of cells) {
    const to = Math.min(columns.length - 1, cell + step)
    for (let i = cell < step ? cell % gridSize : cell - step; i <= to; i += gridSize) columns[i] = 1
  }
  const flags = new Uint8Array(columns.length)
  for (let row = 0; row < flags.length; row += gridSize) {
    let marked = row
    for (let cell = row; cell < row + gridSize; cell++) {
      if (columns[cell] === 0) continue
      const to = Math.min(row + gridSize, cell + radius + 1)
      for (let i = Math.max(marked, cell - radius); i < to; i++) flags[i] = 1
      marked = to
    }
  }
  return indicesOf(flags)
}

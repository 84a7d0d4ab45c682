// Gaussian blur as three box blurs, by the sizes of "Filter Effects Module Level 1" (W3C), feGaussianBlur. The three
// run in one loop of running sums, so the time does not depend on the radius. A wide blur leaves nothing finer than a
// few pixels, so it runs on averages of blocks, between which the result is interpolated: that halves the time.

/** Widths of the three boxes. Their joint blur is centred, because an even pair is followed by an odd box. */
export type Boxes = readonly [number, number, number]

export function boxesOf(deviation: number): Boxes {
  const width = Math.max(1, Math.floor((deviation * 3 * Math.sqrt(2 * Math.PI)) / 4 + 0.5))
  return [width, width, width % 2 === 0 ? width + 1 : width]
}

/** Pixels by which the boxes widen an image on each side. */
export const reachOf = ([first, second, third]: Boxes): number => (first + second + third - 3) / 2

/** One byte per pixel. */
export type Plane = { readonly bytes: Uint8Array; readonly width: number; readonly height: number }

/** An image of 0..255 that is read row by row. */
export type RowSource<T> = {
  readonly width: number
  readonly height: number
  readonly of: T
  /** Writes a row to `line`, which is zero before. No closure: V8 compiles each new one again. */
  readonly readRow: (of: T, y: number, line: Float64Array) => void
}

export type Deviations = {
  /** Deviations of the first row and of the last; between them they change evenly. */
  readonly across: readonly [first: number, last: number]
  readonly down: number
}

/** Standard deviations in blocks: the interpolation then stays within half a step of 255. */
const deviationMin = 4

/** Side of a block. */
const blockOf = ({ across, down }: Deviations): number =>
  Math.max(1, Math.floor(Math.min(...across, down) / deviationMin))

function inBlocks({ across: [first, last], down }: Deviations, block: number): Deviations {
  return { across: [first / block, last / block], down: down / block }
}

export function reachesOf(deviations: Deviations): { readonly across: number; readonly down: number } {
  const block = blockOf(deviations)
  const { across, down } = inBlocks(deviations, block)
  return { across: block * reachOf(boxesOf(Math.max(...across))), down: block * reachOf(boxesOf(down)) }
}

/**
 * Larger than the source by `reachesOf` on every side, and by less than a block to the right and below. `factor`: of
 * the values, 0..1.
 */
export function blur<T>(source: RowSource<T>, deviations: Deviations, factor: number): Plane {
  const block = blockOf(deviations)
  if (block === 1) return blurPixels(source, deviations, factor)
  const of = { source, block, line: new Float64Array(source.width) }
  const size = { width: Math.ceil(source.width / block), height: Math.ceil(source.height / block) }
  return enlarge(blurPixels({ ...size, of, readRow: readBlocks<T> }, inBlocks(deviations, block), factor), block)
}

type Blocks<T> = { readonly source: RowSource<T>; readonly block: number; readonly line: Float64Array }

function readBlocks<T>({ source, block, line }: Blocks<T>, y: number, sums: Float64Array): void {
  const last = Math.min(source.height, (y + 1) * block)
  for (let row = y * block; row < last; row++) {
    line.fill(0)
    source.readRow(source.of, row, line)
    for (let i = 0, from = 0; i < sums.length; i++) {
      let sum = 0
      for (const end = Math.min(line.length, from + block); from < end; from++) sum += line[from] as number
      sums[i] = (sums[i] as number) + sum / block ** 2
    }
  }
}

/** Interpolates between the centres of blocks. */
function enlarge({ bytes, width, height }: Plane, block: number): Plane {
  const large = { width: width * block, height: height * block }
  const result = new Uint8Array(large.width * large.height)
  const line = new Float64Array(width)
  for (let y = 0; y < large.height; y++) {
    const place = Math.max(0, Math.min(height - 1, (y + 0.5) / block - 0.5))
    readBetween({ bytes, width, height }, place, line)
    enlargeRow(line, block, result.subarray(y * large.width, (y + 1) * large.width))
  }
  return { bytes: result, ...large }
}

function readBetween({ bytes, width, height }: Plane, place: number, line: Float64Array): void {
  const upper = Math.floor(place)
  const share = place - upper
  const [from, next] = [upper * width, Math.min(height - 1, upper + 1) * width]
  for (let x = 0; x < width; x++) {
    const value = bytes[from + x] as number
    line[x] = value + ((bytes[next + x] as number) - value) * share
  }
}

function enlargeRow(line: Float64Array, block: number, row: Uint8Array): void {
  const half = block >> 1
  // The first centre is (block - 1) / 2 pixels from the edge.
  const lead = half - (block - 1) / 2
  for (let x = 0; x < half; x++) row[x] = (line[0] as number) + 0.5
  let to = half
  for (let i = 0; i < line.length; i++) {
    const step = ((line[i + 1] ?? line[i]) as number) - (line[i] as number)
    let value = (line[i] as number) + 0.5 + (lead / block) * step
    for (let x = 0; x < block && to < row.length; x++, to++, value += step / block) row[to] = value
  }
}

function blurPixels<T>(source: RowSource<T>, deviations: Deviations, factor: number): Plane {
  const reach = reachesOf(deviations)
  const columns = blurRows(source, { deviations: deviations.across, reach: reach.across, factor: 1 })
  const turned = { width: columns.height, height: columns.width, of: columns, readRow: readColumn }
  const down = { deviations: [deviations.down, deviations.down], reach: reach.down, factor } as const
  const { bytes, width, height } = blurRows(turned, down)
  return { bytes, width: height, height: width }
}

function readColumn({ bytes, height }: Plane, x: number, line: Float64Array): void {
  for (let y = 0, from = x * height; y < height; y++, from++) line[y] = bytes[from] as number
}

type RowPlan = {
  readonly deviations: readonly [first: number, last: number]
  readonly reach: number
  readonly factor: number
}

/** Stores the result column by column, so that the next call reads it by rows. */
function blurRows<T>({ width, height, of, readRow }: RowSource<T>, { deviations, reach, factor }: RowPlan): Plane {
  const [first, last] = deviations
  const length = width + 2 * reach
  const bytes = new Uint8Array(length * height)
  // Zeros in front represent the pixels before the row.
  const before = 2 * reach + 3
  const line = new Float64Array(before + length)
  const sums = { before, line, once: new Float64Array(line.length), twice: new Float64Array(line.length) }
  const row = line.subarray(before, before + width)
  for (let y = 0; y < height; y++) {
    row.fill(0)
    readRow(of, y, row)
    const boxes = boxesOf(first + ((last - first) * y) / Math.max(1, height - 1))
    const own = reachOf(boxes)
    const target = { bytes, from: (reach - own) * height + y, step: height, length: width + 2 * own }
    sumRow(sums, boxes, factor, target)
  }
  return { bytes, width: length, height }
}

type Sums = {
  readonly before: number
  readonly line: Float64Array
  readonly once: Float64Array
  readonly twice: Float64Array
}
type Target = { readonly bytes: Uint8Array; readonly from: number; readonly step: number; readonly length: number }

/** Sums of whole numbers below 2^53 are exact, so no error grows along a row. */
function sumRow(
  { before, line, once, twice }: Sums,
  [first, second, third]: Boxes,
  factor: number,
  target: Target,
): void {
  const { bytes, from, step, length } = target
  const share = factor / (first * second * third)
  let sum = 0
  let sumOnce = 0
  let sumTwice = 0
  for (let i = before, end = before + length, to = from; i < end; i++, to += step) {
    sum += (line[i] as number) - (line[i - first] as number)
    once[i] = sum
    sumOnce += sum - (once[i - second] as number)
    twice[i] = sumOnce
    sumTwice += sumOnce - (twice[i - third] as number)
    bytes[to] = sumTwice * share + 0.5
  }
}

// PNGs of every kind, built by hand: no encoder writes them all, and none writes broken ones.
import { deflateSync } from 'node:zlib'
import { type PngChunk, pngChunk, pngHeader, pngSignature } from './png-parts.ts'

type ColourType = Parameters<typeof pngHeader>[0]['type']
const samplesOf = { grey: 1, rgb: 3, palette: 1, greyAlpha: 2, rgba: 4 } as const satisfies Record<ColourType, number>

export type PngOptions = {
  readonly width: number
  readonly height: number
  readonly type: ColourType
  readonly depth?: 1 | 2 | 4 | 8 | 16
  readonly interlaced?: boolean
  /** Chunks between IHDR and the pixels. */
  readonly chunks?: readonly PngChunk[]
  /** Samples of a pixel, within the depth's range. */
  readonly at: (x: number, y: number) => readonly number[]
}

export function writePng(options: PngOptions): Buffer {
  const { width, height, type, depth = 8, interlaced = false, chunks = [] } = options
  const passes: readonly (readonly number[])[] = interlaced ? adam7 : [[0, 0, 1, 1]]
  const rows = passes.flatMap((pass) => rowsOf(options, pass))
  return Buffer.concat([
    pngSignature,
    pngHeader({ width, height, depth, type, interlaced }),
    ...chunks.map(([name, body]) => pngChunk(name, body)),
    pngChunk('IDAT', deflateSync(Buffer.concat(rows))),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

// First column and row of each pass, and the steps to the next.
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Rows of a pass, each after filter 0; a pass without columns has none. */
function rowsOf({ width, height, type, depth = 8, at }: PngOptions, pass: readonly number[]): Buffer[] {
  const [left = 0, top = 0, across = 1, down = 1] = pass
  const columns = Math.ceil((width - left) / across)
  if (columns <= 0) return []
  const rows: Buffer[] = []
  for (let y = top; y < height; y += down) {
    const row = Buffer.alloc(1 + Math.ceil((columns * samplesOf[type] * depth) / 8))
    let bit = 8
    for (let x = left; x < width; x += across) {
      for (const sample of at(x, y)) {
        if (depth === 16) row.writeUInt16BE(sample, bit >> 3)
        else row[bit >> 3] = (row[bit >> 3] ?? 0) | (sample << (8 - depth - (bit & 7)))
        bit += depth
      }
    }
    rows.push(row)
  }
  return rows
}

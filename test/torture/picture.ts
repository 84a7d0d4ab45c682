// The picture that most files show, 48 × 32: a colour in each quarter, so that one look tells orientation and colours.
import sharp from 'sharp'
import { toYcc, writeJpeg } from './jpeg.ts'
import { type PngOptions, writePng } from './png.ts'

export type Corners = readonly [
  topLeft: readonly number[],
  topRight: readonly number[],
  bottomLeft: readonly number[],
  bottomRight: readonly number[],
]

export type Reason = 'INPUT_UNREADABLE' | 'INPUT_TOO_LARGE'

/** Of a cut-out in which the model has found everything. */
export type Cut = {
  readonly width: number
  readonly height: number
  /** sRGB, and alpha where it is not 255; undefined: whatever. */
  readonly corners?: Corners
  /** Levels that a channel may be off. */
  readonly within?: number
}

export type TortureCase = {
  readonly name: string
  readonly make: () => Buffer | Promise<Buffer>
  readonly outcome: Cut | Reason
  /** Seconds, or hundreds of megabytes: left out where all files are taken many times. */
  readonly isHeavy?: true
}

export const width = 48
export const height = 32
/** No channel of a colour is that of another; rust is out of the gamut of no space that is tried. */
export const corners = [
  [200, 60, 30],
  [40, 160, 70],
  [50, 80, 190],
  [220, 210, 120],
] as const satisfies Corners
export const greys = [20, 90, 160, 230] as const

export const quarter = (x: number, y: number): 0 | 1 | 2 | 3 =>
  ((x < width / 2 ? 0 : 1) + (y < height / 2 ? 0 : 2)) as 0 | 1 | 2 | 3

export const mapCorners = (all: Corners, change: (colour: readonly number[]) => readonly number[]): Corners =>
  all.map(change) as unknown as Corners

export const shown = (all: Corners = corners, within = 0): Cut => ({ width, height, corners: all, within })

type Extras = Partial<Pick<PngOptions, 'depth' | 'interlaced' | 'chunks' | 'at' | 'type'>>

/** As a PNG, by default of RGB with 8 bits. */
export const png = (extras: Extras = {}): Buffer =>
  writePng({ width, height, type: 'rgb', at: (x, y) => corners[quarter(x, y)], ...extras })

/** As a JPEG; `stored` makes a colour into the components of the file. */
export const jpeg = (
  segments: readonly Buffer[] = [],
  stored: (colour: readonly number[]) => readonly number[] = toYcc,
): Buffer =>
  writeJpeg({
    columns: width / 8,
    rows: height / 8,
    segments,
    at: (column, row) => stored(corners[quarter(column * 8, row * 8)]),
  })

/** As a lossless WebP, in its simple form. */
export const webp = (): Promise<Buffer> => sharp(png()).webp({ lossless: true }).toBuffer()

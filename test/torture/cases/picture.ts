// The picture in each of the formats.
import sharp from 'sharp'
import { toYcc, writeJpeg } from '../files/jpeg.ts'
import { type PngOptions, writePng } from '../files/png.ts'
import { corners, quarter, size } from './colours.ts'
import type { Corners, Cut } from './outcome.ts'

const { width, height } = size

export const shown = (all: Corners = corners, within = 0): Cut => ({ width, height, corners: all, within })

type Extras = Partial<Pick<PngOptions, 'depth' | 'interlaced' | 'chunks' | 'at' | 'type'>>

/** As a PNG, by default of RGB with 8 bits. */
export const png = (extras: Extras = {}): Buffer =>
  writePng({ width, height, type: 'rgb', at: (x, y) => corners[quarter(x, y)], ...extras })

/** As a JPEG; `stored` converts a colour to the file's components. */
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

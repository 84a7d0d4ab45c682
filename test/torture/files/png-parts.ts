// Parts of PNGs, including invalid ones.
import { crc32, deflateSync } from 'node:zlib'

export type PngChunk = readonly [name: string, body: Buffer]

export const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** Colour type numbers. */
const colourTypes = { grey: 0, rgb: 2, palette: 3, greyAlpha: 4, rgba: 6 } as const

type Header = {
  readonly width: number
  readonly height: number
  readonly depth: 1 | 2 | 4 | 8 | 16
  readonly type: keyof typeof colourTypes
  readonly interlaced: boolean
}

export function pngHeader({ width, height, depth, type, interlaced }: Header): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colourTypes[type], 0, 0, interlaced ? 1 : 0], 8)
  return pngChunk('IHDR', header)
}

export function pngChunk(type: string, body: Buffer): Buffer {
  const tagged = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const framed = Buffer.alloc(8 + body.length + 4)
  framed.writeUInt32BE(body.length, 0)
  tagged.copy(framed, 4)
  framed.writeUInt32BE(crc32(tagged), 8 + body.length)
  return framed
}

export const profileChunk = (profile: Buffer): PngChunk => [
  'iCCP',
  Buffer.concat([Buffer.from('torture\0\0', 'latin1'), deflateSync(profile)]),
]

// Test images: photos of known origin from test/fixtures/photos, and generated bad files.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { pngChunk } from '../torture/files/png-parts.ts'

const folder = join(import.meta.dirname, '../fixtures/photos')

export const photo = (name: string): Buffer => readFileSync(join(folder, name))

/** The photo with a known true matte. */
export const lemur = (): Buffer => photo('lemur.png')

/** PNG signature on a file that is not a PNG. */
export const mislabelledPng = Buffer.from('<html>This was a photo once.</html>')

/** A photo cut off in the middle of its pixels: the header is valid, decoding fails. */
export const truncatedPng = (): Buffer => lemur().subarray(0, Math.floor(lemur().length / 2))

/**
 * 30,000 × 30,000 grey pixels in about 110 kB: 900 million pixels that must never be decoded to memory. Written by hand
 * with one bit per pixel, because an encoder would need the pixels.
 */
export const hugePng = (): Buffer => greyPng(30_000, 30_000)

/** Begins like a JPEG of 30,000 × 30,000 pixels with this much metadata before its size, and has no pixels. */
export function bigJpeg(metadataBytes: number): Buffer {
  const metadata = Buffer.alloc(2 + metadataBytes)
  metadata.set([0xff, 0xe1])
  metadata.writeUInt16BE(metadataBytes, 2)
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(30_000, 5)
  frame.writeUInt16BE(30_000, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), metadata, frame])
}

/** A valid PNG of one grey, one bit per pixel. */
export function greyPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 0, 0, 0, 0], 8)
  const rowBytes = 1 + Math.ceil(width / 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(rowBytes * height))),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/**
 * A PNG whose size comes after more metadata than creation reads, so only decoding finds it. PNG usually has its size
 * at the start; JPEG may have it late, after segments of 64 kB.
 */
export function jpegWithLateSize(jpeg: Buffer): Buffer {
  const comment = Buffer.alloc(65_535 + 2, 0x20)
  comment.set([0xff, 0xfe, 0xff, 0xff])
  return Buffer.concat([jpeg.subarray(0, 2), comment, comment, comment, jpeg.subarray(2)])
}

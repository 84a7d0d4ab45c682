// PNG of an image in memory, for the thread that made it: no second thread, no copy of the raw pixels to it. Each row
// of a photo is predicted from its left and upper neighbours (PNG's filter 3), and what remains is packed by runs and
// Huffman codes alone: photos repeat nothing but flat areas, and looking for other repeats is what takes deflate's
// time. On lemur.png 5.2 ms and 261 kB, where libvips without filters at zlib level 2 took 6.0 ms and 340 kB, with
// filters 12 ms and 257 kB. Drawings and text do repeat, so some rows are packed both ways first.
import { constants, deflateSync, type ZlibOptions } from 'node:zlib'
import type { ResultImage } from './apply-output.ts'
import { joinPng, srgbChunk } from './format/png-chunks.ts'
import { freeBytes } from './free-bytes.ts'

/**
 * A whole file, 8 bits a channel: grey, RGB or RGBA; colours tagged sRGB, no other metadata. Blocks for 18 ms a
 * megapixel.
 * Takes the image's pixels: they are freed as soon as they are filtered, so that no more than twice the image is in
 * memory at a time.
 */
export function encodePng(image: ResultImage): Uint8Array<ArrayBuffer> {
  const { pixels, channels, width, height } = image
  const way = sizeOfBands(drawingWay, image) < sizeOfBands(photoWay, image) ? drawingWay : photoWay
  const rows = way.filter(image, 0, height)
  freeBytes(pixels)
  // One piece of output for most images; the default of 16 kB would be joined from dozens.
  const packed = deflateSync(rows, { ...way.deflate, chunkSize: Math.max(65_536, rows.length >> 1) })
  freeBytes(rows)
  const file = joinPng([
    ['IHDR', header(width, height, channels)],
    // A matte's numbers are shares and no light.
    ...(channels === 1 ? [] : [srgbChunk]),
    ['IDAT', packed],
    ['IEND', new Uint8Array()],
  ])
  freeBytes(packed)
  return file
}

type Way = {
  /** The rows `from` ≤ y < `to`, each behind the number of its filter. */
  readonly filter: (image: ResultImage, from: number, to: number) => Uint8Array<ArrayBuffer>
  readonly deflate: ZlibOptions
}

const photoWay: Way = {
  filter: (image, from, to) => (image.channels === 4 ? filterPixels(image, from, to) : filterBytes(image, from, to)),
  deflate: { level: 1, strategy: constants.Z_RLE, memLevel: 9 },
}
const drawingWay: Way = { filter: plainRows, deflate: { level: 2, memLevel: 9 } }

// Bands of the image that are packed both ways, and the rows of each: 4 % of lemur.png's, for half a millisecond.
const bands = 4
const bandRows = 4

function sizeOfBands({ filter, deflate }: Way, image: ResultImage): number {
  const parts = Array.from({ length: bands }, (_, band) => {
    const from = Math.floor(((band + 0.5) / bands) * image.height)
    return filter(image, from, Math.min(image.height, from + bandRows))
  })
  return deflateSync(Buffer.concat(parts), deflate).length
}

function plainRows({ pixels, channels, width }: ResultImage, from: number, to: number): Uint8Array<ArrayBuffer> {
  const stride = width * channels
  const rows = new Uint8Array((to - from) * (stride + 1))
  for (let y = from, at = 1; y < to; y++, at += stride + 1) rows.set(pixels.subarray(y * stride, (y + 1) * stride), at)
  return rows
}

const filterAverage = 3

/** Rows of RGBA, the four channels of a pixel at once in the bytes of one 32-bit integer. */
function filterPixels({ pixels: rgba, width, height }: ResultImage, from: number, to: number): Uint8Array<ArrayBuffer> {
  const pixels = new Int32Array(rgba.buffer, rgba.byteOffset, width * height)
  const rows = new Uint8Array((to - from) * (width * 4 + 1))
  const rests = new Int32Array(width)
  const restBytes = new Uint8Array(rests.buffer)
  let previous = from > 0 ? pixels.subarray((from - 1) * width, from * width) : new Int32Array(width)
  for (let y = from, at = 0; y < to; y++) {
    const current = pixels.subarray(y * width, (y + 1) * width)
    let left = 0
    for (let x = 0; x < width; x++) {
      const here = current[x] as number
      const above = previous[x] as number
      const average = ((left & above) + (((left ^ above) & 0xfefefefe) >>> 1)) | 0
      // A subtraction in each byte: its top bit is set so that it borrows from no neighbour, and put right afterwards.
      rests[x] = ((here | 0x80808080) - (average & 0x7f7f7f7f)) ^ ((here ^ ~average) & 0x80808080)
      left = here
    }
    rows[at] = filterAverage
    rows.set(restBytes, at + 1)
    at += restBytes.length + 1
    previous = current
  }
  return rows
}

function filterBytes({ pixels, channels, width }: ResultImage, from: number, to: number): Uint8Array<ArrayBuffer> {
  const stride = width * channels
  const rows = new Uint8Array((to - from) * (stride + 1))
  for (let y = from, at = 0, i = from * stride; y < to; y++) {
    rows[at++] = filterAverage
    for (let x = 0; x < stride; x++, i++) {
      const left = x >= channels ? (pixels[i - channels] as number) : 0
      const above = y > 0 ? (pixels[i - stride] as number) : 0
      rows[at++] = (pixels[i] as number) - ((left + above) >> 1)
    }
  }
  return rows
}

const colourTypes = { 1: 0, 3: 2, 4: 6 } as const

/** The body of IHDR; the bytes left at 0 say deflate, the five filters and no interlacing. */
function header(width: number, height: number, channels: ResultImage['channels']): Uint8Array {
  const bytes = new Uint8Array(13)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  bytes.set([8, colourTypes[channels]], 8)
  return bytes
}

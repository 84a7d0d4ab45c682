// How many pixels an image has by its header, in time that the bytes given bound: whoever uploads a file chooses every
// byte of it (A54).
import type { InputFormat } from '../workspace/format.ts'

/** Cameras and editors write fewer than a hundred before the frame; a file with more is left to the worker. */
const segmentsMax = 512

/** Undefined: cut off, damaged, or no size this early; decoding will show. */
export function countPixels(bytes: Uint8Array, format: InputFormat): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (format === 'png') return pngPixels(view)
  return format === 'jpeg' ? jpegPixels(view) : webpPixels(view)
}

/** The first chunk is IHDR: width and height. */
function pngPixels(view: DataView): number | undefined {
  if (view.byteLength < 24 || fourLetters(view, 12) !== 'IHDR') return undefined
  return view.getUint32(16) * view.getUint32(20)
}

/** From segment to segment, by their lengths, until a frame header. */
function jpegPixels(view: DataView): number | undefined {
  let at = 2
  for (let segment = 0; segment < segmentsMax; segment++) {
    if (at >= view.byteLength || view.getUint8(at) !== 0xff) return undefined
    while (at < view.byteLength && view.getUint8(at) === 0xff) at += 1 // any number of these may come before a marker
    if (at + 8 > view.byteLength) return undefined
    const marker = view.getUint8(at)
    if (isFrame(marker)) return view.getUint16(at + 4) * view.getUint16(at + 6)
    if (marker === startOfScan || marker === endOfImage) return undefined
    at += standsAlone(marker) ? 1 : 1 + view.getUint16(at + 1)
  }
  return undefined
}

const startOfScan = 0xda
const endOfImage = 0xd9

/** SOF0 to SOF15; three numbers among them are something else. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const standsAlone = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)

/** Lossy, lossless, or extended, which has the size of the canvas. */
function webpPixels(view: DataView): number | undefined {
  if (view.byteLength < 30) return undefined
  const chunk = fourLetters(view, 12)
  if (chunk === 'VP8X') return (uint24(view, 24) + 1) * (uint24(view, 27) + 1)
  if (chunk === 'VP8L' && view.getUint8(20) === 0x2f) {
    const sizes = view.getUint32(21, true)
    return ((sizes & 0x3fff) + 1) * (((sizes >>> 14) & 0x3fff) + 1)
  }
  // The start code of a key frame.
  if (chunk !== 'VP8 ' || view.getUint8(23) !== 0x9d || view.getUint16(24) !== 0x012a) return undefined
  return (view.getUint16(26, true) & 0x3fff) * (view.getUint16(28, true) & 0x3fff)
}

const uint24 = (view: DataView, at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_00_00

const fourLetters = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)))

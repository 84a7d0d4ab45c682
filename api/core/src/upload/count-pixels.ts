// Reads an image's pixel count from its header. Uploaders control every byte, so the time is bounded by the input
// length.
import type { InputFormat } from '../workspace/format.ts'

/** Real files have fewer than a hundred segments before the frame; the worker checks files with more. */
const segmentsMax = 512

/** Pixels; undefined if the header is truncated, damaged or too far in. The worker then checks after decoding. */
export function countPixels(bytes: Uint8Array, format: InputFormat): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (format === 'png') return pngPixels(view)
  return format === 'jpeg' ? jpegPixels(view) : webpPixels(view)
}

/** Width and height are in IHDR, the first chunk. */
function pngPixels(view: DataView): number | undefined {
  if (view.byteLength < 24 || fourLetters(view, 12) !== 'IHDR') return undefined
  return view.getUint32(16) * view.getUint32(20)
}

/** Walks the segments by their lengths to a frame header. */
function jpegPixels(view: DataView): number | undefined {
  let at = 2
  for (let segment = 0; segment < segmentsMax; segment++) {
    if (at >= view.byteLength || view.getUint8(at) !== 0xff) return undefined
    while (at < view.byteLength && view.getUint8(at) === 0xff) at += 1 // fill bytes before a marker
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

/** SOF0 to SOF15, without DHT, JPG and DAC. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const standsAlone = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)

/** Lossy (VP8), lossless (VP8L) and extended (VP8X) files. */
function webpPixels(view: DataView): number | undefined {
  if (view.byteLength < 30) return undefined
  const chunk = fourLetters(view, 12)
  if (chunk === 'VP8X') return (uint24(view, 24) + 1) * (uint24(view, 27) + 1)
  if (chunk === 'VP8L' && view.getUint8(20) === 0x2f) {
    const sizes = view.getUint32(21, true)
    return ((sizes & 0x3fff) + 1) * (((sizes >>> 14) & 0x3fff) + 1)
  }
  // Start code of a key frame.
  if (chunk !== 'VP8 ' || view.getUint8(23) !== 0x9d || view.getUint16(24) !== 0x012a) return undefined
  return (view.getUint16(26, true) & 0x3fff) * (view.getUint16(28, true) & 0x3fff)
}

const uint24 = (view: DataView, at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_00_00

const fourLetters = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)))

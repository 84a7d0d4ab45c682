import sharp, { type Metadata } from 'sharp'
import type { Photo } from './cut-out/sample-cells.ts'
import { freeBytes, takeBytes } from './free-bytes.ts'
import { ImageError } from './image-error.ts'
import { hasTooManySegments, isOddHeader } from './jpeg-header.ts'

// 50 megapixels take 0.3 s (JPEG) to 0.8 s (PNG with alpha). A timeout is no ImageError: the machine is stuck, so the
// attempt may be retried.
const decodeTimeoutS = 60

/**
 * Decodes a PNG, JPEG or WebP to upright 8-bit sRGB; of an animation, the first frame. Needs twice the decoded size: a
 * sharp Buffer cannot move to a thread, and sharp's toUint8Array leaks the original (0.35.5).
 * @throws ImageError INPUT_UNREADABLE or INPUT_TOO_LARGE (more than `maxPixels`, checked before decoding)
 */
export async function decodePhoto(bytes: Uint8Array, maxPixels: number, header?: PhotoHeader): Promise<Photo> {
  const { data, info } = await decodePixels(bytes, header ?? (await readHeader(bytes, maxPixels)), maxPixels)
  const { width, height } = info
  // libvips decodes a JPEG of two components but has no colours for it.
  if (info.channels !== 3 && info.channels !== 4) throw unreadable(`${info.channels} channels`)
  const colours = info.channels === 4 ? dropIdleAlpha(data) : undefined
  const pixels = colours ?? new Uint8Array(data)
  freeBytes(data)
  return { pixels, channels: info.channels === 4 && colours === undefined ? 4 : 3, width, height }
}

export type PhotoHeader = Metadata

/**
 * The longest side of a JPEG; other formats are held to it (A257). Memory and time of some steps depend on the length
 * of a row or on the number of rows.
 */
const sideMax = 65_535

/** Reads format, size and colour model without decoding; rejects what decodePhoto rejects. */
export async function readHeader(bytes: Uint8Array, maxPixels: number): Promise<PhotoHeader> {
  if (!isAllowedFormat(bytes)) {
    throw new ImageError('INPUT_UNREADABLE', 'The file is not a PNG, JPEG or WebP image.')
  }
  if (isJpeg(bytes) && hasTooManySegments(bytes)) {
    throw new ImageError('INPUT_UNREADABLE', 'The JPEG has too many segments of metadata.')
  }
  const header = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((error: unknown) => Promise.reject(unreadable(error)))
  if (Math.max(header.width, header.height) > sideMax) {
    throw new ImageError(
      'INPUT_TOO_LARGE',
      `The image has ${header.width} x ${header.height} pixels; a side may have at most ${sideMax}.`,
    )
  }
  if (header.width * header.height > maxPixels) {
    throw new ImageError(
      'INPUT_TOO_LARGE',
      `The image has ${header.width} x ${header.height} pixels; at most ${maxPixels} pixels are accepted.`,
    )
  }
  return header
}

const pngSignature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const jpegSignature = [0xff, 0xd8, 0xff]

const startsWith = (bytes: Uint8Array, signature: readonly number[]): boolean =>
  signature.every((byte, index) => bytes[index] === byte)

const isJpeg = (bytes: Uint8Array): boolean => startsWith(bytes, jpegSignature)

/** Checks the content, not the name: libvips would also open SVG, TIFF, GIF, HEIF and PDF. */
function isAllowedFormat(bytes: Uint8Array): boolean {
  const ascii = (from: number) => String.fromCharCode(...bytes.subarray(from, from + 4))
  return startsWith(bytes, pngSignature) || isJpeg(bytes) || (ascii(0) === 'RIFF' && ascii(8) === 'WEBP')
}

async function decodePixels(bytes: Uint8Array, header: PhotoHeader, maxPixels: number) {
  // 'error' rejects truncated and corrupt data and accepts odd metadata, as browsers do. libjpeg only warns of corrupt
  // data and fills in grey, so a JPEG with a regular header fails on warnings. libvips does not say which image a
  // warning belongs to.
  const failOn = header.format === 'jpeg' && !isOddHeader(bytes) ? 'warning' : 'error'
  const pipeline = sharp(bytes, { limitInputPixels: maxPixels, failOn, autoOrient: true })
    .timeout({ seconds: decodeTimeoutS })
    .toColourspace('srgb')
  // sharp converts 16-bit RGB with a profile to Display P3 and leaves it there; asking for an sRGB profile adds the
  // missing step. Without a profile that would shift the colours.
  if (header.space === 'rgb16' && header.icc) pipeline.withIccProfile('srgb')
  try {
    return await pipeline.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  } catch (error) {
    throw isOwnError(error) ? error : unreadable(error)
  }
}

const isOwnError = (error: unknown) => error instanceof Error && /out of memory|timeout/i.test(error.message)

const unreadable = (cause: unknown) =>
  new ImageError('INPUT_UNREADABLE', 'The image is damaged or incomplete and cannot be decoded.', { cause })

const opaque = 0xff << 24

/** Drops an opaque alpha, which makes later steps a quarter cheaper; undefined at the first transparent pixel. */
function dropIdleAlpha(rgba: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const pixels = new Int32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4)
  const rgb = takeBytes(pixels.length * 3)
  const groups = Math.floor(pixels.length / 4)
  // Four pixels become three words.
  const words = new Int32Array(rgb.buffer, 0, groups * 3)
  for (let from = 0, to = 0; to < words.length; from += 4, to += 3) {
    const first = pixels[from] as number
    const second = pixels[from + 1] as number
    const third = pixels[from + 2] as number
    const fourth = pixels[from + 3] as number
    if ((first & second & third & fourth & opaque) !== opaque) return undefined
    words[to] = (first & 0xffffff) | (second << 24)
    words[to + 1] = ((second >>> 8) & 0xffff) | (third << 16)
    words[to + 2] = ((third >>> 16) & 0xff) | (fourth << 8)
  }
  for (let i = groups * 4; i < pixels.length; i++) {
    if (((pixels[i] as number) & opaque) !== opaque) return undefined
    rgb.set(rgba.subarray(i * 4, i * 4 + 3), i * 3)
  }
  return rgb
}

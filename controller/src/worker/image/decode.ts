import sharp, { type Metadata } from 'sharp'
import { isOddHeader } from './format/jpeg-header.ts'
import { freeBytes } from './free-bytes.ts'
import { ImageError } from './image-error.ts'

/** Decoded pixels, upright and in 8-bit sRGB. Its memory can move to another thread; it is then gone on this one. */
export type Photo = {
  /** Rows from the top, `width * height * channels` bytes, colours not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  /** 3: red, green, blue. 4: and alpha, which then is below 255 somewhere. */
  readonly channels: 3 | 4
  readonly width: number
  readonly height: number
}

// Seconds of work on one image. 50 megapixels take 0.3 (JPEG) to 0.8 (PNG with alpha) on one core; past this the
// machine is stuck, and the attempt is given up, not the image: the error is no ImageError.
const decodeTimeoutS = 60

/**
 * Decodes a PNG, JPEG or WebP of any depth and colour model to upright 8-bit sRGB; frame 1 of an animation.
 * Throws ImageError: INPUT_UNREADABLE (not one of the three formats, damaged, cut short), INPUT_TOO_LARGE (more than
 * `maxPixels`, judged from the header before any pixel is decoded).
 * Memory: twice the decoded pixels for a moment. A Buffer of sharp's cannot move to a worker thread, so the pixels are
 * copied, which keeps the calling thread for 1 ms a megapixel; sharp's own toUint8Array, meant for this, copies as well
 * and never frees its original (0.35.5: 150 MB lost with every 50-megapixel photo).
 */
export async function decodePhoto(bytes: Uint8Array, maxPixels: number, header?: PhotoHeader): Promise<Photo> {
  const { data, info } = await decodePixels(bytes, header ?? (await readHeader(bytes, maxPixels)), maxPixels)
  const { width, height } = info
  // A JPEG of two components passes libvips, which has no colours for it.
  if (info.channels !== 3 && info.channels !== 4) throw unreadable(`${info.channels} channels`)
  const colours = info.channels === 4 ? dropIdleAlpha(data) : undefined
  const pixels = colours ?? new Uint8Array(data)
  freeBytes(data)
  return { pixels, channels: info.channels === 4 && colours === undefined ? 4 : 3, width, height }
}

export type PhotoHeader = Metadata

/** Reads the format, size and colour model and no pixels; refuses what decodePhoto refuses for them. */
export async function readHeader(bytes: Uint8Array, maxPixels: number): Promise<PhotoHeader> {
  if (!isAllowedFormat(bytes)) {
    throw new ImageError('INPUT_UNREADABLE', 'The file is not a PNG, JPEG or WebP image.')
  }
  const header = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((error: unknown) => Promise.reject(unreadable(error)))
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

/** By content, whatever the upload called itself: libvips would also open SVG, TIFF, GIF, HEIF and PDF. */
function isAllowedFormat(bytes: Uint8Array): boolean {
  const startsWith = (signature: number[]) => signature.every((byte, index) => bytes[index] === byte)
  const ascii = (from: number) => String.fromCharCode(...bytes.subarray(from, from + 4))
  return startsWith(pngSignature) || startsWith(jpegSignature) || (ascii(0) === 'RIFF' && ascii(8) === 'WEBP')
}

async function decodePixels(bytes: Uint8Array, header: PhotoHeader, maxPixels: number) {
  // 'error' refuses cut-short and corrupt data but not what libvips only warns about (odd metadata, extra bytes after
  // the image), which every browser shows without complaint. libjpeg only warns of corrupt data too, and fills the rest
  // with grey: a result that nobody wants to pay for. What it warned of is not to be had: libvips keeps the texts of
  // all images that it works on in one place.
  const failOn = header.format === 'jpeg' && !isOddHeader(bytes) ? 'warning' : 'error'
  const pipeline = sharp(bytes, { limitInputPixels: maxPixels, failOn, autoOrient: true })
    .timeout({ seconds: decodeTimeoutS })
    .toColourspace('srgb')
  // Trap: sharp takes 16-bit RGB with a profile to Display P3 and leaves it there. Asking for an sRGB profile on the
  // output adds the missing step; asking without need would shift the colours of 16-bit RGB that has no profile.
  if (header.space === 'rgb16' && header.icc) pipeline.withIccProfile('srgb')
  try {
    return await pipeline.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  } catch (error) {
    throw isOwnError(error) ? error : unreadable(error)
  }
}

// libvips reports these through the same error type as a damaged file.
const isOwnError = (error: unknown) => error instanceof Error && /out of memory|timeout/i.test(error.message)

const unreadable = (cause: unknown) =>
  new ImageError('INPUT_UNREADABLE', 'The image is damaged or incomplete and cannot be decoded.', { cause })

const opaque = 0xff << 24

/**
 * The colours alone where alpha hides nothing, as many editors write it: without it every later step is cheaper by a
 * quarter. Undefined at the first pixel that is not opaque, so an image with a real alpha costs a read of its
 * beginning.
 */
function dropIdleAlpha(rgba: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  // Sharp's buffers begin where their memory does, so that whole words can be read.
  const pixels = new Int32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4)
  const rgb = new Uint8Array(pixels.length * 3)
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

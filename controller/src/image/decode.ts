import sharp, { type Metadata } from 'sharp'
import { ImageError } from './image-error.ts'

/** An upright picture in 8-bit sRGB. Its memory can move to another thread; it is then gone on this one. */
export type Photo = {
  /** Rows from the top, `width * height * channels` bytes, colours not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  /** 3: red, green, blue. 4: and alpha, which then is below 255 somewhere. */
  readonly channels: 3 | 4
  readonly width: number
  readonly height: number
}

// Seconds of work on one picture. 50 megapixels take 0.3 (JPEG) to 0.8 (PNG with alpha) on one core; past this the
// machine is stuck, and the attempt is given up, not the picture: the error is no ImageError.
const decodeTimeoutS = 60

/**
 * Decodes a PNG, JPEG or WebP of any depth and colour model to upright 8-bit sRGB; frame 1 of an animation.
 * Throws ImageError: INPUT_UNREADABLE (not one of the three formats, damaged, cut short), INPUT_TOO_LARGE (more than
 * `maxPixels`, judged from the header before any pixel is decoded).
 * Memory: twice the decoded pixels for a moment. A Buffer of sharp's cannot move to a worker thread, so the pixels are
 * copied, which keeps the calling thread for 2 ms a megapixel; sharp's own toUint8Array, meant for this, copies as well
 * and never frees its original (0.35.5: 150 MB lost with every 50-megapixel photo).
 */
export async function decodePhoto(bytes: Uint8Array, { maxPixels }: { maxPixels: number }): Promise<Photo> {
  const header = await readHeader(bytes, { maxPixels })
  const { data, info } = await decodePixels(bytes, header, maxPixels)
  const { width, height } = info
  if (info.channels === 3) return { pixels: new Uint8Array(data), channels: 3, width, height }
  return isOpaque(data)
    ? { pixels: dropAlpha(data), channels: 3, width, height }
    : { pixels: new Uint8Array(data), channels: 4, width, height }
}

/** Reads the format, size and colour model and no pixels; refuses what decodePhoto refuses for them. */
export async function readHeader(bytes: Uint8Array, { maxPixels }: { maxPixels: number }): Promise<Metadata> {
  if (!isAllowedFormat(bytes)) {
    throw new ImageError('INPUT_UNREADABLE', 'The file is not a PNG, JPEG or WebP picture.')
  }
  const header = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((error: unknown) => Promise.reject(unreadable(error)))
  if (header.width * header.height > maxPixels) {
    throw new ImageError(
      'INPUT_TOO_LARGE',
      `The picture has ${header.width} x ${header.height} pixels; at most ${maxPixels} pixels are accepted.`,
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

async function decodePixels(bytes: Uint8Array, header: Metadata, maxPixels: number) {
  // failOn 'error' refuses cut-short and corrupt data but not what libvips only warns about (odd metadata, extra bytes
  // after the picture), which every browser shows without complaint.
  const pipeline = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', autoOrient: true })
    .timeout({ seconds: decodeTimeoutS })
    .toColourspace('srgb')
  // Trap: sharp takes 16-bit RGB with a profile to Display P3 and leaves it there. Asking for an sRGB profile on the
  // output adds the missing step; asking without need would shift the colours of 16-bit RGB that has no profile.
  if (header.space === 'rgb16' && header.icc) pipeline.withIccProfile('srgb')
  try {
    return await pipeline.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  } catch (error) {
    throw isOwnFault(error) ? error : unreadable(error)
  }
}

// libvips reports these through the same error type as a damaged file.
const isOwnFault = (error: unknown) => error instanceof Error && /out of memory|timeout/i.test(error.message)

const unreadable = (cause: unknown) =>
  new ImageError('INPUT_UNREADABLE', 'The picture is damaged or incomplete and cannot be decoded.', { cause })

function isOpaque(rgba: Uint8Array): boolean {
  for (let i = 3; i < rgba.length; i += 4) if (rgba[i] !== 255) return false
  return true
}

// Many editors write an alpha channel that hides nothing; without it every later step is cheaper by a quarter.
function dropAlpha(rgba: Uint8Array): Uint8Array<ArrayBuffer> {
  const rgb = new Uint8Array((rgba.length / 4) * 3)
  for (let i = 0, out = 0; out < rgb.length; i += 4, out += 3) {
    rgb[out] = rgba[i] as number
    rgb[out + 1] = rgba[i + 1] as number
    rgb[out + 2] = rgba[i + 2] as number
  }
  return rgb
}

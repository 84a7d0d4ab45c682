import sharp, { type Sharp } from 'sharp'
import { ImageError } from './image-error.ts'

export type OutputFormat = 'png' | 'webp' | 'jpeg'

export type OutputOptions = {
  readonly format: OutputFormat
  /** `#rrggbb` or `transparent`, the default. JPEG cannot be transparent and gets white instead (D41). */
  readonly background?: string
}

// The longest side each format can express (its header's field; libvips allows PNG more than any photo here has).
const sideMax: Record<OutputFormat, number> = { png: 2 ** 31 - 1, webp: 16_383, jpeg: 65_535 }

/**
 * The result as a file. `rgba`: `width * height * 4` bytes of 8-bit sRGB, not premultiplied. Metadata is not carried over.
 * Throws ImageError INPUT_TOO_LARGE when the format cannot hold a side this long.
 */
export async function encodeResult(
  rgba: Uint8Array,
  width: number,
  height: number,
  { format, background = 'transparent' }: OutputOptions,
): Promise<Buffer> {
  if (Math.max(width, height) > sideMax[format]) {
    throw new ImageError(
      'INPUT_TOO_LARGE',
      `A ${format} file holds at most ${sideMax[format]} pixels a side, and the picture is ${width} x ${height}; ask for png.`,
    )
  }
  const picture = sharp(rgba, { raw: { width, height, channels: 4 }, limitInputPixels: false })
  const colour = background === 'transparent' ? (format === 'jpeg' ? '#ffffff' : null) : background
  if (colour !== null) picture.flatten({ background: colour })
  return await encoders[format](picture).toBuffer()
}

// PNG: never `quality`, `effort` or `colours`, any of which makes sharp reduce the picture to 256 colours.
const encoders: Record<OutputFormat, (picture: Sharp) => Sharp> = {
  png: (picture) => picture.png({ compressionLevel: 2, adaptiveFiltering: false }),
  webp: (picture) => picture.webp({ quality: 90, alphaQuality: 100, effort: 0 }),
  jpeg: (picture) => picture.jpeg({ quality: 90, mozjpeg: false }),
}

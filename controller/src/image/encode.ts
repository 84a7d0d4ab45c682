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

// CPU ms and MB of output per megapixel, mean of the cut-outs of the five test photos at their own size (each level one
// after the other, process.cpuUsage, median of 7; sharp 0.35.5, one thread, 2-core Xeon):
//   PNG level       1     2     3     4     6     9   | filtered: 1     2     3     6 | WebP effort 0     2     4 | JPEG
//   ms/MP        15.3  20.8  22.7  25.0  26.6  70.4   |        34.7  41.8  43.2  53.2 |          55   116   198 | 15.5
//   MB/MP        1.46  1.21  1.20  1.20  1.19  1.16   |        1.30  0.93  0.92  0.91 |        0.20  0.16  0.16 | 0.13
// PNG 2 without filtering: its last MB saved costs 22 ms, less than sending a MB at 360 Mbit/s; the next step, filtering,
// costs 75 ms a MB and would make encoding the largest part of a task besides the model. WebP 0 for the same reason.
// Never `quality`, `effort` or `colours` for PNG: any of them makes sharp reduce the picture to 256 colours.
const encoders: Record<OutputFormat, (picture: Sharp) => Sharp> = {
  png: (picture) => picture.png({ compressionLevel: 2, adaptiveFiltering: false }),
  webp: (picture) => picture.webp({ quality: 90, alphaQuality: 100, effort: 0 }),
  jpeg: (picture) => picture.jpeg({ quality: 90 }),
}

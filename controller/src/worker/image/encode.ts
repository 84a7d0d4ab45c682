import type { Output } from '@matte/core/db/tables/task'
import sharp, { type Sharp } from 'sharp'
import type { Canvas, ResultImage } from './apply-output.ts'
import type { Box } from './cut-out/foreground.ts'
import { hardenAlpha } from './harden-alpha.ts'
import { ImageError } from './image-error.ts'
import { limitSize, roundBox } from './place-subject.ts'
import { tagSrgb } from './tag-srgb.ts'

type OutputFormat = Output['format']
type EncodeOptions = Partial<Pick<Output, 'alpha' | 'background' | 'shadow'>> & {
  readonly format: OutputFormat
  readonly maxSide?: number | null
  readonly maxPixels?: number | null
}

export type EncodedResult = {
  readonly file: Uint8Array
  readonly width: number
  readonly height: number
  /** In pixels of the file, rounded outwards; null when nothing was found. */
  readonly foreground: Box | null
}

// Longest side of each format; libjpeg stops 35 pixels short of its header field.
const sideMax: Record<OutputFormat, number> = { png: 2 ** 31 - 1, webp: 16_383, jpeg: 65_500 }

/**
 * Scales, places the subject in its canvas, and encodes.
 * @throws ImageError INPUT_TOO_LARGE when the format cannot hold the side
 */
export async function encodeResult(
  image: ResultImage,
  { format, alpha, background, shadow = null, maxSide = null, maxPixels = null }: EncodeOptions,
): Promise<EncodedResult> {
  const { pixels, channels, foreground, canvas } = image
  const size = limitSize(canvas ?? image, { maxSide, maxPixels })
  const { width, height } = size
  checkSides(format, size)
  const raw = { width: image.width, height: image.height, channels }
  const pipeline = sharp(pixels, { raw, limitInputPixels: false })
  if (channels === 1) pipeline.toColourspace('b-w')
  // sharp premultiplies before scaling. Its default kernel would draw a faint ring of alpha around hard edges; cubic
  // does not.
  const place = canvas && placeIn(canvas, size)
  const scaled = place ?? size
  if (scaled.width !== image.width || scaled.height !== image.height) {
    pipeline.resize({ width: scaled.width, height: scaled.height, fit: 'fill', kernel: 'cubic' })
  }
  if (canvas && place) pipeline.extend(marginsOf(place, size, canvas))
  // A shadow is soft.
  const isHard = alpha === 'hard' && shadow === null && (channels === 1 || background === 'transparent')
  const ready = isHard && channels !== 3 ? await hardened(pipeline, size, channels) : pipeline
  const bare = await encodeBare(ready, format)
  const file = channels === 1 ? bare : await tagSrgb(bare, { format, width, height })
  return { file, width, height, foreground: foreground && moveBox(scaleBox(foreground, image, scaled), place) }
}

/** Encodes an image of colours. @throws ImageError INPUT_TOO_LARGE when the format cannot hold the side */
export async function encodeImage(image: Sharp, wanted: Size & { readonly format: OutputFormat }): Promise<Uint8Array> {
  checkSides(wanted.format, wanted)
  return await tagSrgb(await encodeBare(image, wanted.format), wanted)
}

function checkSides(format: OutputFormat, { width, height }: Size): void {
  if (Math.max(width, height) <= sideMax[format]) return
  throw new ImageError(
    'INPUT_TOO_LARGE',
    `A ${format} file holds at most ${sideMax[format]} pixels a side, ` +
      `and the image is ${width} x ${height}; ask for png.`,
  )
}

const encodeBare = (image: Sharp, format: OutputFormat): Promise<Buffer> =>
  format === 'webp' ? encodeWebp(image) : encoders[format](image).toBuffer()

/** Scaling has softened the edges again. */
async function hardened(image: Sharp, { width, height }: Size, channels: 1 | 4): Promise<Sharp> {
  const pixels = await image.raw().toBuffer()
  hardenAlpha(pixels, channels)
  const sharpened = sharp(pixels, { raw: { width, height, channels }, limitInputPixels: false })
  return channels === 1 ? sharpened.toColourspace('b-w') : sharpened
}

type Size = { readonly width: number; readonly height: number }

/** One scaling takes the piece to its size in the result. */
function placeIn({ piece, ...canvas }: Canvas, size: Size): Box {
  return roundBox(piece, { width: size.width / canvas.width, height: size.height / canvas.height }, size)
}

function marginsOf({ top, left, width, height }: Box, size: Size, { backdrop }: Canvas) {
  const { red, green, blue, alpha } = backdrop
  return {
    top,
    left,
    bottom: size.height - top - height,
    right: size.width - left - width,
    background: { r: red, g: green, b: blue, alpha: alpha / 255 },
  }
}

function scaleBox({ top, left, width, height }: Box, from: Size, to: Size): Box {
  const across = to.width / from.width
  const down = to.height / from.height
  const box = { top: Math.floor(top * down), left: Math.floor(left * across) }
  return {
    ...box,
    width: Math.min(to.width, Math.ceil((left + width) * across)) - box.left,
    height: Math.min(to.height, Math.ceil((top + height) * down)) - box.top,
  }
}

const moveBox = ({ top, left, ...size }: Box, by: Pick<Box, 'top' | 'left'> | undefined): Box => ({
  top: top + (by?.top ?? 0),
  left: left + (by?.left ?? 0),
  ...size,
})

// PNG: `quality`, `effort` and `colours` make sharp reduce the image to 256 colours.
const encoders: Record<Exclude<OutputFormat, 'webp'>, (image: Sharp) => Sharp> = {
  png: (image) => image.png({ compressionLevel: 2, adaptiveFiltering: false }),
  jpeg: (image) => image.jpeg({ quality: 90, mozjpeg: false }),
}

/** Effort 0 fails on large noisy images, whose block predictions exceed libwebp's 512 kB partition. */
async function encodeWebp(image: Sharp): Promise<Buffer> {
  const options = { quality: 90, alphaQuality: 100 }
  try {
    return await image
      .clone()
      .webp({ ...options, effort: 0 })
      .toBuffer()
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('unable to encode')) throw error
    return image
      .clone()
      .webp({ ...options, effort: 2 })
      .toBuffer()
  }
}

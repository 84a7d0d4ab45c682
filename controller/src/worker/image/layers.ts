// Additions of the doors to a finished cut-out, a transparent PNG: a background image, or its parts as a ZIP.
import type { Output } from '@matte/core/db/tables/task'
import { zipSync } from 'fflate'
import sharp from 'sharp'
import type { PhotoBehind } from './cut-out-worker.ts'
import { decodePhoto, type PhotoHeader } from './decode.ts'
import { type EncodedResult, encodeImage } from './encode.ts'
import { freeBytes } from './free-bytes.ts'
import { tagSrgb } from './tag-srgb.ts'

export type Background = {
  readonly file: Uint8Array
  readonly header: PhotoHeader
  readonly maxPixels: number
}

/**
 * Puts the cut-out over a background that is scaled and cropped from its centre to fill the result. White shows through
 * a transparent background as JPEG.
 * @throws ImageError if the background cannot be decoded, or the format cannot hold the result
 */
export async function layOverImage(
  { file: cutOut, ...result }: EncodedResult,
  { file, header, maxPixels }: Background,
  format: Output['format'],
): Promise<EncodedResult> {
  const { width, height } = result
  const { pixels, channels, ...size } = await decodePhoto(file, maxPixels, header)
  const pipeline = sharp(pixels, { raw: { ...size, channels }, limitInputPixels: false })
  const overlay = Buffer.from(cutOut.buffer, cutOut.byteOffset, cutOut.byteLength) // without a copy
  if (format === 'jpeg') pipeline.flatten({ background: '#ffffff' })
  pipeline.resize({ width, height, fit: 'cover' }).composite([{ input: overlay }])
  if (channels === 3 || format === 'jpeg') pipeline.removeAlpha()
  const encoded = await encodeImage(pipeline, { format, width, height })
  freeBytes(pixels)
  return { ...result, file: encoded }
}

/**
 * `color.jpg`, without transparency, and `alpha.png`, one grey channel. Both are compressed already. The colours are
 * those of the cut-out, and of the photo behind it where it is transparent; black without one.
 */
export async function toParts(cutOut: EncodedResult, behind: PhotoBehind | undefined): Promise<Uint8Array> {
  const { file, width, height } = cutOut
  const raw = { width, height, channels: 3 } as const
  const bare = sharp(await coloursOf(cutOut, behind), { raw, limitInputPixels: false }).jpeg({ quality: 90 })
  const colour = await tagSrgb(await bare.toBuffer(), { format: 'jpeg', width, height })
  const matte = sharp(file, { limitInputPixels: false }).extractChannel('alpha').toColourspace('b-w')
  const alpha = await matte.png({ compressionLevel: 2, adaptiveFiltering: false }).toBuffer()
  return zipSync({ 'color.jpg': colour, 'alpha.png': alpha }, { level: 0 })
}

async function coloursOf({ file, width, height }: EncodedResult, behind: PhotoBehind | undefined) {
  const colours = behind ? await scaleTo(behind, { width, height }) : new Uint8Array(width * height * 3)
  const rgba = await sharp(file, { limitInputPixels: false }).ensureAlpha().raw().toBuffer()
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    if (rgba[from + 3] === 0) continue
    colours[to] = rgba[from] as number
    colours[to + 1] = rgba[from + 1] as number
    colours[to + 2] = rgba[from + 2] as number
  }
  freeBytes(rgba)
  return colours
}

type Size = { readonly width: number; readonly height: number }

/** Empties the pixels unless they are returned. */
async function scaleTo({ pixels, ...from }: PhotoBehind, { width, height }: Size): Promise<Uint8Array> {
  if (from.width === width && from.height === height) return pixels
  const image = sharp(pixels, { raw: { ...from, channels: 3 }, limitInputPixels: false })
  const scaled = await image.resize({ width, height, fit: 'fill', kernel: 'cubic' }).raw().toBuffer()
  freeBytes(pixels)
  return scaled
}

// Additions of the doors to a finished cut-out, a transparent PNG: a background image, or its parts as a ZIP.
import type { Output } from '@matte/core/db/tables/task'
import { zipSync } from 'fflate'
import sharp from 'sharp'
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

/** `color.jpg`, without transparency, and `alpha.png`, one grey channel. Both are compressed already. */
export async function toParts({ file, width, height }: EncodedResult): Promise<Uint8Array> {
  const bare = await sharp(file, { limitInputPixels: false }).removeAlpha().jpeg({ quality: 90 }).toBuffer()
  const colour = await tagSrgb(bare, { format: 'jpeg', width, height })
  const matte = sharp(file, { limitInputPixels: false }).extractChannel('alpha').toColourspace('b-w')
  const alpha = await matte.png({ compressionLevel: 2, adaptiveFiltering: false }).toBuffer()
  return zipSync({ 'color.jpg': colour, 'alpha.png': alpha }, { level: 0 })
}

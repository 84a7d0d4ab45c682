import { readHeader } from './decode.ts'

/**
 * The size of a PNG, JPEG or WebP as stored (before rotation), from its header alone. Throws ImageError as decodePhoto
 * does, so that a picture can be refused, or its share of the pixel budget taken, before any memory is spent on it.
 */
export async function photoSize(
  bytes: Uint8Array,
  { maxPixels }: { maxPixels: number },
): Promise<{ width: number; height: number }> {
  const { width, height } = await readHeader(bytes, { maxPixels })
  return { width, height }
}

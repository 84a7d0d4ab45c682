import sharp from 'sharp'
import type { Photo } from './decode.ts'

/**
 * Stretches the photo to `size` x `size` (no letterbox: the network was trained on stretched images): RGB interleaved,
 * `size * size * 3` bytes. The filter is Lanczos: the network's mask has a smaller error than with a
 * triangle on 40 of 48 photographed or painted subjects (A113).
 *
 * Transparent parts are replaced by a plain backdrop, so the hidden colours that some editors leave there cannot pull
 * the mask; the photo's alpha itself is multiplied into the result by cutOut.
 */
export async function toModelInput(photo: Photo, size: number): Promise<Buffer> {
  const { width, height, channels } = photo
  const pixels = sharp(photo.pixels, { raw: { width, height, channels }, limitInputPixels: false })
  if (channels === 4) pixels.flatten({ background: isDark(photo) ? '#ffffff' : '#000000' })
  return await pixels.resize(size, size, { fit: 'fill', kernel: 'lanczos3', fastShrinkOnLoad: false }).raw().toBuffer()
}

// A visible part darker than this on average (0..255, Rec. 601 luma) is shown over white, any other over black.
// Measured on the five test photos and their negatives, cut out and given to u2netp again: soft IoU with the first mask
// was 0.956 on average over black, 0.936 over white, 0.934 over ImageNet's mean colour. Black fails only where it
// hides.
const darkLumaMax = 64

// Pixels sampled for that mean: enough for two digits, and no pause worth naming on the event loop (0.05 ms).
const lumaSamples = 10_000

function isDark({ pixels }: Photo): boolean {
  const stride = Math.max(1, Math.floor(pixels.length / 4 / lumaSamples)) * 4
  let luma = 0
  let alpha = 0
  for (let i = 0; i < pixels.length; i += stride) {
    const weight = pixels[i + 3] as number
    const [red, green, blue] = [pixels[i] as number, pixels[i + 1] as number, pixels[i + 2] as number]
    luma += weight * (0.299 * red + 0.587 * green + 0.114 * blue)
    alpha += weight
  }
  return luma < darkLumaMax * alpha
}

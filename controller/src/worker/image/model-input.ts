import sharp from 'sharp'
import type { Photo } from './cut-out/sample-cells.ts'

/**
 * Stretches the photo to `size` x `size` RGB, as in the network's training. Lanczos gives a smaller mask error than a
 * triangle filter on 40 of 48 photos. Transparent parts become a plain backdrop: hidden colours must not count.
 */
export async function toModelInput(photo: Photo, size: number): Promise<Buffer> {
  const { width, height, channels } = photo
  const pixels = sharp(photo.pixels, { raw: { width, height, channels }, limitInputPixels: false })
  if (channels === 4) pixels.flatten({ background: isDark(photo) ? '#ffffff' : '#000000' })
  return await pixels.resize(size, size, { fit: 'fill', kernel: 'lanczos3', fastShrinkOnLoad: false }).raw().toBuffer()
}

// Mean luma (0..255, Rec. 601) below which the visible part is shown over white instead of black. On five photos and
// their negatives, soft IoU with the first mask was 0.956 over black, 0.936 over white, 0.934 over ImageNet's mean.
const darkLumaMax = 64

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

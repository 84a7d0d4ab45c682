import sharp from 'sharp'
import type { Pixels, Size } from './case.ts'
import { addGrain, drawNoise } from './noise.ts'
import type { Random } from './random.ts'

/** Draws SVG elements on nothing and gives them a surface: photos have no flat colours. */
export async function drawSvg(size: Size, random: Random, body: string): Promise<Pixels> {
  const { width, height } = size
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${body}</svg>`
  const rgba = await sharp(Buffer.from(svg), { unlimited: true }).ensureAlpha().raw().toBuffer()
  const surface = await drawNoise(size, random, { coarsest: 5 })
  for (let i = 0; i < rgba.length; i += 4) {
    const light = 0.55 + (0.45 * (surface[i / 4] as number)) / 128
    for (let channel = i; channel < i + 3; channel++) {
      rgba[channel] = Math.min(255, Math.max(0, Math.round((rgba[channel] as number) * light)))
    }
  }
  addGrain(rgba, { stride: 4, deviation: 2 }, random)
  return { ...size, rgba: clearHidden(rgba) }
}

type Placement = {
  /** Longest share of the picture's width or height. */
  readonly share: number
  /** Position of the free room, 0..1 from left and top. */
  readonly across: number
  readonly down: number
}

/** Scales an existing cut-out into the picture. */
export async function place(file: Buffer | string, size: Size, { share, across, down }: Placement): Promise<Pixels> {
  const trimmed = await sharp(file).toColourspace('srgb').ensureAlpha().png({ compressionLevel: 1 }).toBuffer()
  const { data, info } = await sharp(trimmed)
    .resize({
      width: Math.round(size.width * share),
      height: Math.round(size.height * share),
      fit: 'inside',
      kernel: 'cubic',
    })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const left = Math.round((size.width - info.width) * across)
  const top = Math.round((size.height - info.height) * down)
  const rgba = new Uint8Array(size.width * size.height * 4)
  for (let y = 0; y < info.height; y++) {
    const row = data.subarray(y * info.width * 4, (y + 1) * info.width * 4)
    rgba.set(row, ((y + top) * size.width + left) * 4)
  }
  return { ...size, rgba: clearHidden(rgba) }
}

/** Clears the colours under alpha 0. */
function clearHidden(rgba: Uint8Array): Uint8Array {
  for (let i = 0; i < rgba.length; i += 4) if (rgba[i + 3] === 0) rgba.fill(0, i, i + 3)
  return rgba
}

/** Composites by the mixture equation, so the truth is exact. */
export function layOver({ rgba }: Pixels, background: Uint8Array): Uint8Array {
  const photo = new Uint8Array(background.length)
  for (let i = 0, j = 0; i < rgba.length; i += 4, j += 3) {
    const alpha = rgba[i + 3] as number
    for (let channel = 0; channel < 3; channel++) {
      const mixed = alpha * (rgba[i + channel] as number) + (255 - alpha) * (background[j + channel] as number)
      photo[j + channel] = Math.round(mixed / 255)
    }
  }
  return photo
}

import sharp from 'sharp'
import type { Size } from './case.ts'
import type { Random } from './random.ts'

/** A plane of cloud-like noise around 128: grids of random numbers, enlarged and added. */
export async function drawNoise(size: Size, random: Random, { coarsest = 3, octaves = 6 } = {}): Promise<Float32Array> {
  const plane = new Float32Array(size.width * size.height).fill(128)
  let amplitude = 60
  for (let octave = 0, cells = coarsest; octave < octaves; octave++, cells *= 2, amplitude *= 0.62) {
    const columns = Math.max(2, Math.min(size.width, Math.round((cells * size.width) / size.height)))
    const rows = Math.max(2, Math.min(size.height, cells))
    const grid = Uint8Array.from({ length: columns * rows }, () => Math.floor(random.next() * 256))
    const layer = await sharp(grid, { raw: { width: columns, height: rows, channels: 1 } })
      .resize({ ...size, fit: 'fill', kernel: 'cubic' })
      .toColourspace('b-w')
      .raw()
      .toBuffer()
    for (let i = 0; i < plane.length; i++) {
      plane[i] = (plane[i] as number) + (((layer[i] as number) - 128) / 128) * amplitude
    }
  }
  return plane
}

type Grain = { readonly stride: 3 | 4; readonly deviation: number }

/** Adds camera grain in place, equal for all colours of a pixel. */
export function addGrain(pixels: Uint8Array, { stride, deviation }: Grain, random: Random): void {
  for (let i = 0; i < pixels.length; i += stride) {
    // The sum of two uniform numbers saves a logarithm per pixel.
    const grain = (random.next() + random.next() - 1) * 2.4 * deviation
    for (let channel = i; channel < i + 3; channel++) {
      pixels[channel] = Math.min(255, Math.max(0, Math.round((pixels[channel] as number) + grain)))
    }
  }
}

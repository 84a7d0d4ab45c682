import sharp from 'sharp'
import type { Size } from './case.ts'
import type { Random } from './random.ts'

/** One plane of cloud-like noise, 0..255 around 128: grids of random numbers, enlarged and added, fine ones weaker. */
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

/** A camera's grain, in place: the same for all three colours of a pixel, every `stride` bytes. */
export function addGrain(pixels: Uint8Array, { stride, deviation }: Grain, random: Random): void {
  for (let i = 0; i < pixels.length; i += stride) {
    // The sum of two, not a bell: no logarithm for each of millions of pixels.
    const grain = (random.next() + random.next() - 1) * 2.4 * deviation
    for (let channel = i; channel < i + 3; channel++) {
      pixels[channel] = Math.min(255, Math.max(0, Math.round((pixels[channel] as number) + grain)))
    }
  }
}

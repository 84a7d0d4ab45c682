// Input files of the cases, written once per run. Noise does not compress, so a small photo has a body of several
// packets, and a cut meets the middle of it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'

export const inputNames = [
  'photo.png',
  'photo.jpg',
  'photo.webp',
  'damaged.png',
  'empty.png',
  'text.png',
  'large.png',
] as const
export type InputName = (typeof inputNames)[number] | 'missing.png'

const side = 320

/** Pixels of a linear congruential generator: the same in every run. */
function noise(seed: number): Buffer {
  const pixels = Buffer.alloc(side * side * 3)
  let state = seed >>> 0
  for (let at = 0; at < pixels.length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    pixels[at] = state >>> 24
  }
  return pixels
}

const photo = (seed = 1) => sharp(noise(seed), { raw: { width: side, height: side, channels: 3 } })

export async function writeInputs(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  const png = await photo().png().toBuffer()
  const files: Readonly<Record<(typeof inputNames)[number], Buffer>> = {
    'photo.png': png,
    'photo.jpg': await photo().jpeg().toBuffer(),
    'photo.webp': await photo().webp().toBuffer(),
    'damaged.png': png.subarray(0, png.length / 2),
    'empty.png': Buffer.alloc(0),
    'text.png': Buffer.from('This is no image.\n'.repeat(100)),
    'large.png': Buffer.concat([png, Buffer.alloc(20 * 1_048_576)]),
  }
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(dir, name), bytes)
}

/** Small photos, all different, named 001.png and so on. Returns their paths. */
export async function writePhotos(dir: string, count: number): Promise<string[]> {
  mkdirSync(dir, { recursive: true })
  const paths: string[] = []
  for (let index = 1; index <= count; index++) {
    const background = { r: index % 256, g: (index * 7) % 256, b: 90 }
    const path = join(dir, `${String(index).padStart(3, '0')}.png`)
    await sharp({ create: { width: 24, height: 24, channels: 3, background } })
      .png()
      .toFile(path)
    paths.push(path)
  }
  return paths
}

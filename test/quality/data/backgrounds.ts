// Backgrounds: blurred or sharp photos, and generated patterns. A photo belongs to `tune` or to `report`; patterns get
// new random numbers for every picture.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import type { Part, Size } from './case.ts'
import { addGrain, drawNoise } from './noise.ts'
import type { Random } from './random.ts'

/** `width * height * 3` bytes. */
type Background = (size: Size, random: Random) => Promise<Uint8Array>

const bundled: Record<Part, readonly string[]> = {
  tune: ['astronaut.png', 'coffee.png'],
  report: ['rocket.jpg', 'chelsea.png'],
}

/** More photos: of scenes, and of subjects. */
export type NaturePhotos = { readonly scenes: readonly string[]; readonly subjects: readonly string[] }

export function listBackgrounds(part: Part, { scenes, subjects }: NaturePhotos): Background[] {
  const own = bundled[part].map((name) => join(rootDir, 'test/fixtures/photos', name))
  return [
    // Photos of subjects are never sharp, or their subjects would be found too.
    ...[...own, ...subjects].map((path) => outOfFocus(path, 0.015, 0.035)),
    ...scenes.flatMap((path) => [outOfFocus(path, 0, 0.002), outOfFocus(path, 0.004, 0.02)]),
    ...[drawClouds, drawClouds, drawGradient, drawBokeh, drawWeave, drawBricks],
  ]
}

/** A part of a photo, blurred by `from` to `to` of the picture's longer side. */
function outOfFocus(path: string, from: number, to: number): Background {
  return async ({ width, height }, random) => {
    const file = await readFile(path)
    const { width: fullWidth, height: fullHeight } = await sharp(file).metadata()
    const share = random.between(0.6, 1) * Math.min(fullWidth / width, fullHeight / height)
    const [cropWidth, cropHeight] = [Math.floor(width * share), Math.floor(height * share)]
    const left = Math.floor(random.next() * (fullWidth - cropWidth))
    const top = Math.floor(random.next() * (fullHeight - cropHeight))
    const sigma = random.between(from, to) * Math.max(width, height)
    const isMirrored = random.next() < 0.5
    const crop = sharp(file).toColourspace('srgb').removeAlpha()
    const scaled = await crop
      .extract({ left, top, width: cropWidth, height: cropHeight })
      .resize({ width, height, fit: 'fill', kernel: 'cubic' })
      .flop(isMirrored)
      .png({ compressionLevel: 1 })
      .toBuffer()
    const pixels = await (sigma < 0.3 ? sharp(scaled) : sharp(scaled).blur(sigma)).raw().toBuffer()
    // Blurring removes the grain that a camera adds after its own blur.
    addGrain(pixels, { stride: 3, deviation: random.between(1, 4) }, random)
    return pixels
  }
}

type Colour = readonly [red: number, green: number, blue: number]

/** Any lightness, rarely a strong colour: painted walls, cloth, skies. */
const anyColour = (random: Random): Colour => {
  const [grey, strength] = [random.between(20, 235), random.next() ** 2 * 110]
  const channel = (): number => Math.min(255, Math.max(0, grey + (random.next() * 2 - 1) * strength))
  return [channel(), channel(), channel()]
}

/** Mixes two colours by a number 0..1 per pixel, and adds grain. */
function fromShares({ width, height }: Size, random: Random, share: (x: number, y: number) => number): Uint8Array {
  const [one, other] = [anyColour(random), anyColour(random)]
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 3) {
      const mix = Math.min(1, Math.max(0, share(x, y)))
      for (let channel = 0; channel < 3; channel++) {
        pixels[i + channel] = (one[channel] as number) * (1 - mix) + (other[channel] as number) * mix
      }
    }
  }
  addGrain(pixels, { stride: 3, deviation: random.between(1, 5) }, random)
  return pixels
}

const drawClouds: Background = async (size, random) => {
  const noise = await drawNoise(size, random)
  return fromShares(size, random, (x, y) => (noise[y * size.width + x] as number) / 255)
}

const drawGradient: Background = async (size, random) => {
  const angle = random.next() * 2 * Math.PI
  const [across, down] = [Math.cos(angle) / size.width, Math.sin(angle) / size.height]
  return fromShares(size, random, (x, y) => 0.5 + (x - size.width / 2) * across + (y - size.height / 2) * down)
}

const drawWeave: Background = async (size, random) => {
  const period = size.width / random.between(14, 50) / (2 * Math.PI)
  const [slant, noise] = [random.between(-1, 1), await drawNoise(size, random, { octaves: 4 })]
  return fromShares(size, random, (x, y) => {
    const threads = Math.sin((x + slant * y) / period) * 0.2 + Math.sin((y - slant * x) / period) * 0.2
    return 0.5 + threads + ((noise[y * size.width + x] as number) - 128) / 400
  })
}

const drawBricks: Background = async (size, random) => {
  const [rows, noise] = [Math.round(random.between(6, 14)), await drawNoise(size, random, { coarsest: 6 })]
  const [high, wide] = [size.height / rows, (size.height / rows) * 2.2]
  return fromShares(size, random, (x, y) => {
    const row = Math.floor(y / high)
    const isJoint = y % high < high * 0.1 || (x + (row % 2) * (wide / 2)) % wide < wide * 0.05
    return (isJoint ? 0.75 : 0.25) + ((noise[y * size.width + x] as number) - 128) / 300
  })
}

const drawBokeh: Background = async ({ width, height }, random) => {
  const circles = Array.from({ length: 45 }, () => {
    const [red, green, blue] = anyColour(random)
    const [x, y, radius] = [random.next() * width, random.next() * height, random.between(0.02, 0.09) * width]
    const colour = `rgb(${red | 0},${green | 0},${blue | 0})`
    return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${colour}" opacity="${random.between(0.15, 0.7)}"/>`
  })
  const [red, green, blue] = anyColour(random)
  const plain = `rgb(${(red / 3) | 0},${(green / 3) | 0},${(blue / 3) | 0})`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="${plain}"/>${circles.join('')}</svg>`
  const pixels = await sharp(Buffer.from(svg))
    .removeAlpha()
    .blur(width / 300)
    .raw()
    .toBuffer()
  addGrain(pixels, { stride: 3, deviation: random.between(1, 4) }, random)
  return pixels
}

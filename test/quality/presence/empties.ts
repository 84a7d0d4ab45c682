// Pictures without a subject, as users send them: skies, walls, noise, gradients, text, plain colours. Each part has
// separate random numbers.
import sharp from 'sharp'
import type { Part, Size } from '../data/case.ts'
import { addGrain, drawNoise } from '../data/noise.ts'
import { createRandom, type Random } from '../data/random.ts'

export type Empty = { readonly name: string; readonly kind: string; readonly draw: () => Promise<Buffer> }

type Colour = readonly [red: number, green: number, blue: number]
/** `width * height * 3` bytes. */
type Draw = (size: Size, random: Random) => Promise<Uint8Array>

const sizes: readonly Size[] = [
  { width: 640, height: 480 },
  { width: 480, height: 640 },
  { width: 1_200, height: 860 },
]

/** Pictures per kind and part. */
const each = 20

export function listEmpties(part: Part): Empty[] {
  return Object.entries(kinds).flatMap(([kind, draw]) =>
    Array.from({ length: each }, (_, i): Empty => {
      const name = `${part}-empty-${kind}-${i}`
      const size = sizes[i % sizes.length] as Size
      return { name, kind, draw: () => toFile(draw, size, createRandom(name)) }
    }),
  )
}

async function toFile(draw: Draw, size: Size, random: Random): Promise<Buffer> {
  const pixels = await draw(size, random)
  return await sharp(pixels, { raw: { ...size, channels: 3 } })
    .png({ compressionLevel: 3 })
    .toBuffer()
}

const anyColour = (random: Random): Colour => [random.between(0, 255), random.between(0, 255), random.between(0, 255)]

/** Paints a picture from `at`, pixel by pixel. */
function paint({ width, height }: Size, at: (x: number, y: number) => Colour): Uint8Array {
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 3) {
      const colour = at(x, y)
      for (let channel = 0; channel < 3; channel++) {
        pixels[i + channel] = Math.min(255, Math.max(0, Math.round(colour[channel] as number)))
      }
    }
  }
  return pixels
}

const mix = (one: Colour, other: Colour, share: number): Colour => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
]

/** Blue or evening sky, mostly with clouds. */
async function sky(size: Size, random: Random): Promise<Uint8Array> {
  const isEvening = random.next() < 0.3
  const top: Colour = [random.between(20, 90), random.between(70, 140), random.between(150, 235)]
  const bottom: Colour = isEvening ? [250, random.between(120, 200), random.between(60, 150)] : [200, 220, 240]
  const cover = random.next() * 1.4 - 0.4
  const clouds = await drawNoise(size, random, { coarsest: Math.round(random.between(2, 5)) })
  const pixels = paint(size, (x, y) => {
    const cloud = ((clouds[y * size.width + x] as number) - 128) / 60 + cover - 0.5
    const share = Math.min(0.95, Math.max(0, cloud))
    return mix(mix(top, bottom, y / size.height), [245, 245, 248], share)
  })
  addGrain(pixels, { stride: 3, deviation: random.between(0.5, 3) }, random)
  return pixels
}

/** Plaster or bricks, lit from one side. */
async function wall(size: Size, random: Random): Promise<Uint8Array> {
  const base = mix(anyColour(random), [190, 180, 170], 0.6)
  const surface = await drawNoise(size, random, { coarsest: 12, octaves: 5 })
  const roughness = random.between(0.05, 0.35)
  const slope = random.between(-0.4, 0.4)
  const hasBricks = random.next() < 0.5
  const brick = { width: Math.round(random.between(40, 110)), height: Math.round(random.between(18, 45)) }
  const tones = Array.from({ length: 97 }, () => random.between(0.8, 1.15))
  const toneAt = (x: number, y: number): number => {
    if (!hasBricks) return 1
    const row = Math.floor(y / brick.height)
    const along = x + (row % 2) * (brick.width / 2)
    const isJoint = y % brick.height < 3 || along % brick.width < 3
    return isJoint ? 1.3 : (tones[(row * 31 + Math.floor(along / brick.width) * 17) % tones.length] as number)
  }
  const pixels = paint(size, (x, y) => {
    const rough = 1 + (roughness * ((surface[y * size.width + x] as number) - 128)) / 60
    const light = (1 + slope * (x / size.width - 0.5)) * rough * toneAt(x, y)
    return [base[0] * light, base[1] * light, base[2] * light]
  })
  addGrain(pixels, { stride: 3, deviation: random.between(1, 4) }, random)
  return pixels
}

/** White noise, grey or of colours, fine or in squares; or cloudy noise. */
async function noise(size: Size, random: Random): Promise<Uint8Array> {
  if (random.next() < 0.3) {
    const plane = () => drawNoise(size, random, { coarsest: 8 })
    const [red, green, blue] = [await plane(), await plane(), await plane()]
    const at = (x: number, y: number): number => y * size.width + x
    return paint(size, (x, y) => [red[at(x, y)] ?? 0, green[at(x, y)] ?? 0, blue[at(x, y)] ?? 0])
  }
  const cell = Math.round(random.between(1, 12))
  const columns = Math.ceil(size.width / cell)
  const isGrey = random.next() < 0.5
  const strength = random.between(10, 127)
  const colours = Array.from({ length: columns * Math.ceil(size.height / cell) }, (): Colour => {
    const grey = 128 + (random.next() * 2 - 1) * strength
    const any = (): number => (isGrey ? grey : 128 + (random.next() * 2 - 1) * strength)
    return [any(), any(), any()]
  })
  return paint(size, (x, y) => colours[Math.floor(y / cell) * columns + Math.floor(x / cell)] as Colour)
}

/** Along a line, or around a point. */
async function gradient(size: Size, random: Random): Promise<Uint8Array> {
  const [from, to] = [anyColour(random), anyColour(random)]
  const angle = random.next() * 2 * Math.PI
  const centre = { x: random.next(), y: random.next() }
  const isRound = random.next() < 0.4
  return paint(size, (x, y) => {
    const [across, down] = [x / size.width - centre.x, y / size.height - centre.y]
    const share = isRound ? Math.hypot(across, down) : 0.5 + across * Math.cos(angle) + down * Math.sin(angle)
    return mix(from, to, Math.min(1, Math.max(0, share)))
  })
}

const words = 'of the to and in is that for it with as was on be at by this had not are but from or have an they'.split(
  ' ',
)

/** A page: lines of words, dark on light or light on dark. */
async function text(size: Size, random: Random): Promise<Uint8Array> {
  const isDark = random.next() < 0.2
  const [paper, ink] = isDark ? ['#202428', '#e8e8e8'] : ['#f8f6f0', '#181818']
  const height = random.between(10, 34)
  const lines = Array.from({ length: Math.floor(size.height / (height * 1.5)) }, (_, row) => {
    const count = Math.ceil(size.width / (height * 2.6))
    const line = Array.from({ length: count }, () => random.pick(words)).join(' ')
    const place = `x="${height}" y="${(row + 1) * height * 1.5}" font-size="${height}"`
    return `<text ${place} font-family="serif">${line}</text>`
  })
  const { width, height: whole } = size
  const page = `<rect width="100%" height="100%" fill="${paper}"/><g fill="${ink}">${lines.join('')}</g>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}">${page}</svg>`
  return await sharp(Buffer.from(svg)).removeAlpha().toColourspace('srgb').raw().toBuffer()
}

/** As it is, or with a camera's grain. */
async function colour(size: Size, random: Random): Promise<Uint8Array> {
  const one = random.next() < 0.3 ? mix([0, 0, 0], [255, 255, 255], random.pick([0, 0.5, 1])) : anyColour(random)
  const pixels = paint(size, () => one)
  if (random.next() < 0.5) addGrain(pixels, { stride: 3, deviation: random.between(0.5, 4) }, random)
  return pixels
}

const kinds: Readonly<Record<string, Draw>> = { sky, wall, noise, gradient, text, colour }

// The list of pictures. A case names its foreground, size and part; the rest follows from its name by fixed random
// numbers, so machines with the same packages draw the same pictures.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Say } from '@matte/local/say'
import sharp from 'sharp'
import { cacheDir, cached } from '../cache.ts'
import { listBackgrounds } from './backgrounds.ts'
import type { Case, Part, Picture, Size } from './case.ts'
import { layOver } from './draw.ts'
import { lemur, listNaturePhotos, listPortraits, listStamps, type Source } from './photographed.ts'
import { createRandom } from './random.ts'
import { drawFur, drawHair } from './strands.ts'
import { drawGlass, drawHoles, drawLattice, drawWires } from './structures.ts'

const drawn = {
  hair: drawHair,
  fur: drawFur,
  holes: drawHoles,
  lattice: drawLattice,
  wires: drawWires,
  glass: drawGlass,
}

const small: Size = { width: 640, height: 480 }
const megapixel: Size = { width: 1200, height: 860 }
const large: Readonly<Record<string, Size>> = {
  '4 MP': { width: 2400, height: 1680 },
  '12 MP': { width: 4240, height: 2832 },
  '24 MP': { width: 6000, height: 4000 },
}

export type Choice = { readonly parts: readonly Part[]; readonly large: boolean; readonly say: Say }

export async function listCases({ parts, large: isLarge, say }: Choice): Promise<Case[]> {
  const stamps = await listStamps(say)
  const portraits = await listPortraits(say)
  const cases = parts.flatMap((part) => [
    ...drawnCases(part),
    ...photographed({ kind: 'lemur', sources: [lemur], times: 4 }, part),
    ...photographed({ kind: 'objects', sources: stamps, times: 2 }, part),
    ...photographed({ kind: 'portraits', sources: portraits, times: 1 }, part),
    ...(isLarge ? largeCases(part, [lemur, ...stamps, ...portraits]) : []),
  ])
  return cases
}

/** Six of each at 0.3 megapixels, two at 1. */
function drawnCases(part: Part): Case[] {
  return Object.entries(drawn).flatMap(([kind, drawForeground]) =>
    Array.from({ length: 8 }, (_, i) => {
      const size = i % 4 === 3 ? megapixel : small
      return { ...size, name: `${part}-${kind}-${i}`, kind, part, drawForeground }
    }),
  )
}

type Photographed = { readonly kind: string; readonly sources: readonly Source[]; readonly times: number }

/** Each source of the part over `times` backgrounds, every fourth picture at 1 megapixel. */
function photographed({ kind, sources, times }: Photographed, part: Part): Case[] {
  const own = sources.filter((source) => source.part === part)
  return own.flatMap(({ name, drawForeground }, index) =>
    Array.from({ length: times }, (_, i) => {
      const size = (index * times + i) % 4 === 3 ? megapixel : small
      return { ...size, name: `${part}-${kind}-${name}-${i}`, kind, part, drawForeground }
    }),
  )
}

/** Few, because each takes seconds. */
function largeCases(part: Part, sources: readonly Source[]): Case[] {
  const own = sources.filter((source) => source.part === part)
  return Object.entries(large).flatMap(([kind, size], step) => {
    const kinds = step === 0 ? Object.keys(drawn) : Object.keys(drawn).filter((_, i) => i % 3 === step - 1)
    const named = `${part}-${kind.replace(' ', '').toLowerCase()}`
    const subjects = [
      ...kinds.map((name) => ({ name, drawForeground: drawn[name as keyof typeof drawn] })),
      ...own.slice(step, step + 1),
    ]
    return subjects.map(({ name, drawForeground }) => ({
      ...size,
      name: `${named}-${name}`,
      kind,
      part,
      drawForeground,
    }))
  })
}

/** Draws the picture, or reads it from the cache. */
export async function drawCase(one: Case, say: Say): Promise<Picture> {
  const { name, kind, part, width, height } = one
  const size = { width, height }
  const extension = width * height > 2e6 ? 'jpg' : 'png'
  const stem = `data-${await scriptsDigest()}/${name}`
  let photo: Promise<{ readonly truth: Buffer; readonly file: Buffer }> | undefined
  const draw = () => {
    photo ??= compose(one, extension, say)
    return photo
  }
  const truth = await cached(`${stem}.truth.png`, async () => (await draw()).truth)
  const file = await cached(`${stem}.${extension}`, async () => (await draw()).file)
  const rgba = await sharp(truth, { limitInputPixels: false }).raw().toBuffer()
  return {
    name,
    kind,
    part,
    file,
    path: join(cacheDir, `${stem}.${extension}`),
    truth: { ...size, rgba },
    hasColours: true,
  }
}

async function compose({ name, part, drawForeground, width, height }: Case, extension: 'png' | 'jpg', say: Say) {
  const size = { width, height }
  const random = createRandom(name)
  const foreground = await drawForeground(size, random)
  const backgrounds = listBackgrounds(part, await listNaturePhotos(part, say))
  const photo = layOver(foreground, await random.pick(backgrounds)(size, random))
  const image = sharp(photo, { raw: { ...size, channels: 3 }, limitInputPixels: false })
  const jpeg = { quality: 95, chromaSubsampling: '4:4:4' }
  return {
    file: await (extension === 'jpg' ? image.jpeg(jpeg) : image.png({ compressionLevel: 3 })).toBuffer(),
    truth: await sharp(foreground.rgba, { raw: { ...size, channels: 4 }, limitInputPixels: false })
      .png({ compressionLevel: 3 })
      .toBuffer(),
  }
}

let digest: Promise<string> | undefined

/** Digest of the scripts in this folder, which decide how a picture looks. */
function scriptsDigest(): Promise<string> {
  digest ??= digestFolder(import.meta.dirname)
  return digest
}

async function digestFolder(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for (const file of (await readdir(folder)).filter((name) => !name.endsWith('.test.ts')).sort()) {
    hash.update(file).update(await readFile(join(folder, file)))
  }
  return hash.digest('hex').slice(0, 12)
}

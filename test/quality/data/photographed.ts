// Photographed or painted foregrounds: the bundled lemur, and those of Debian packages.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import type { Say } from '@matte/local/say'
import sharp from 'sharp'
import type { NaturePhotos } from './backgrounds.ts'
import type { Part, Pixels, Size } from './case.ts'
import { place } from './draw.ts'
import { unpack } from './packages.ts'
import type { Random } from './random.ts'

export type Source = {
  readonly name: string
  readonly part: Part
  readonly drawForeground: (size: Size, random: Random) => Promise<Pixels>
}

const fixtures = join(rootDir, 'test/fixtures/photos')

/** Excluded from `report`: the pipeline was first tuned on it. */
export const lemur: Source = {
  name: 'lemur',
  part: 'tune',
  async drawForeground(size, random) {
    const colours = sharp(join(fixtures, 'lemur-foreground.png')).removeAlpha()
    const { data, info } = await colours.raw().toBuffer({ resolveWithObject: true })
    const alpha = await sharp(join(fixtures, 'lemur-alpha.png')).extractChannel(0).raw().toBuffer()
    // sharp always applies removeAlpha last, hence the second pass.
    const file = await sharp(data, { raw: info })
      .joinChannel(alpha, { raw: { ...info, channels: 1 } })
      .png({ compressionLevel: 1 })
      .toBuffer()
    // It touches the picture's lower border, as in its photo.
    return place(file, size, { share: 1, across: random.next(), down: 1 })
  },
}

// Photos cut out by hand, with soft edges; one per subject.
const stampNames = [
  ...['albino_peahen', 'crowned_crane', 'helmeted_guineafowl'].map((name) => `animals/birds/${name}`),
  ...['animals/fish/lobster', 'animals/insects/Woodlouse', 'animals/insects/mantis'],
  ...['bears/european-bear', 'bovines/gnu-baby', 'bovines/indian_blackbuck'].map((name) => `animals/mammals/${name}`),
  ...['clothes/hats/feathered_hat', 'food/fruit/Cherry_Stella', 'household/Lightbulb'],
  ...['household/tools/cementmixer', 'medical/stethoscope', 'military/paratrooper', 'military/vehicles/bradley'],
  ...['military/vehicles/f22_raptor', 'plants/flowers/anemone_red', 'plants/flowers/daffodil'],
  ...[
    'plants/trees/holm_oak',
    'plants/trees/liberia-palm',
    'plants/trees/rambutan',
    'town/roadsigns/railroad_crossing',
  ],
  ...['vehicles/construction/dumper', 'vehicles/emergency/firetruck', 'vehicles/flight/balloon360'],
  ...['vehicles/flight/planes/747', 'vehicles/race/indycar', 'vehicles/wheel_tractor'],
]

export async function listStamps(say: Say): Promise<Source[]> {
  const folder = await unpack('stamps', say)
  if (folder === undefined) return []
  return halve(
    stampNames.map((name) => ({
      name: name.slice(name.lastIndexOf('/') + 1).toLowerCase(),
      drawForeground: (size: Size, random: Random) =>
        place(join(folder, `usr/share/tuxpaint/stamps/${name}.png`), size, {
          share: random.between(0.65, 0.9),
          across: random.between(0.25, 0.75),
          down: random.between(0.3, 0.9),
        }),
    })),
  )
}

/** Painted people and creatures, cut off at the bottom like portraits. */
export async function listPortraits(say: Say): Promise<Source[]> {
  const folders = [await unpack('portraits', say), await unpack('morePortraits', say)]
  const paths: string[] = []
  for (const folder of folders.filter((folder) => folder !== undefined)) {
    const files = await readdir(folder, { recursive: true })
    paths.push(
      ...files
        .filter((file) => file.includes('images/portraits/') && file.endsWith('.png'))
        .map((file) => join(folder, file)),
    )
  }
  // The same person in another mood is the same source.
  const people = new Map<string, string>()
  for (const path of paths.sort()) {
    const person = path.slice(path.lastIndexOf('/') + 1).split(/[-_.]/)[0] as string
    if (!people.has(person)) people.set(person, path)
  }
  return halve(
    [...people].map(([name, path]) => ({
      name,
      drawForeground: (size: Size, random: Random) =>
        place(path, size, { share: random.between(0.85, 1), across: random.between(0.3, 0.7), down: 1 }),
    })),
  )
}

/** Every other source by name goes to `report`. */
const halve = (sources: readonly Omit<Source, 'part'>[]): Source[] =>
  [...sources]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((source, i) => ({ ...source, part: i % 2 === 0 ? ('tune' as const) : ('report' as const) }))

const natureNames: Record<Part, { scenes: readonly string[]; subjects: readonly string[] }> = {
  tune: { scenes: ['Dune', 'Garden', 'Storm', 'Wood'], subjects: ['Aqua', 'LadyBird'] },
  report: { scenes: ['Blinds', 'GreenMeadow', 'RainDrops'], subjects: ['FreshFlower', 'TwoWings', 'YellowFlower'] },
}

/** Background photos. */
export async function listNaturePhotos(part: Part, say: Say): Promise<NaturePhotos> {
  const folder = await unpack('photos', say)
  if (folder === undefined) return { scenes: [], subjects: [] }
  const paths = (names: readonly string[]): string[] =>
    names.map((name) => join(folder, `usr/share/backgrounds/mate/nature/${name}.jpg`))
  return { scenes: paths(natureNames[part].scenes), subjects: paths(natureNames[part].subjects) }
}

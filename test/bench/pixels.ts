// `make bench ARGS=pixels`: CPU time of decoding, composing and encoding an image, relative to the vips command line:
// decode the photo, join a finished alpha of the photo's size, write a PNG with vips's fastest settings. Ours also
// computes that alpha from the model's mask. The start of vips is subtracted.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configureHeap, configureSharp } from '@matte/controller/worker/image/configure'
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto, readHeader } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { median } from './median.ts'
import type { Row } from './row.ts'

export type PixelOptions = { readonly rounds: number; readonly say: (line: string) => void }

const maxPixels = 50_000_000
const sizes = { 1: [1_243, 804], 12: [4_307, 2_787] } as const
const formats = ['png', 'jpeg'] as const

/** Undefined without vips (Debian: libvips-tools). */
export async function measurePixels({ rounds, say }: PixelOptions): Promise<Row[]> {
  if (spawnSync('vips', ['--version']).status !== 0) {
    say('pixels: vips is not installed (libvips-tools), so nothing is measured')
    return []
  }
  configureHeap()
  configureSharp()
  const dir = mkdtempSync(join(tmpdir(), 'matte-pixels-'))
  try {
    const rows: Row[] = []
    for (const [megapixels, size] of Object.entries(sizes)) {
      for (const format of formats) rows.push(await pixelRow({ dir, rounds, format, megapixels, size }))
    }
    return rows
  } finally {
    rmSync(dir, { recursive: true })
  }
}

type Comparison = {
  readonly dir: string
  readonly rounds: number
  readonly format: (typeof formats)[number]
  readonly megapixels: string
  readonly size: readonly [width: number, height: number]
}

async function pixelRow({ dir, rounds, format, megapixels, size }: Comparison): Promise<Row> {
  const [width, height] = size
  const fixtures = join(rootDir, 'test/fixtures')
  const enlarge = (file: string) =>
    sharp(readFileSync(join(fixtures, file))).resize(width, height, { fit: 'fill', kernel: 'cubic' })
  const [photo, alpha, result] = [join(dir, `photo.${format}`), join(dir, 'alpha.v'), join(dir, 'result.png')]
  const large = enlarge('photos/lemur.png').removeAlpha()
  await (format === 'png' ? large.png() : large.jpeg({ quality: 90 })).toFile(photo)
  await enlarge('lemur-mask-320.png').toColourspace('b-w').png().toFile(join(dir, 'alpha.png'))
  // Uncompressed, like a mask in memory.
  vips('copy', join(dir, 'alpha.png'), alpha)
  const mask = await sharp(readFileSync(join(fixtures, 'lemur-mask-320.png')))
    .toColourspace('b-w')
    .raw()
    .toBuffer()
  const file = readFileSync(photo)
  const times = { ours: [] as number[], vips: [] as number[], start: [] as number[] }
  let bytes = 0
  const count = Math.ceil(12 / Number(megapixels))
  // V8 optimises for some fifty images.
  for (let image = 0; image < 60; image++) await takeOurs(file, mask)
  for (let round = 0; round < rounds; round++) {
    const one = {
      ours: await ownCpuMs(count, async () => {
        bytes = (await takeOurs(file, mask)).length
      }),
      vips: childCpuMs(count, () => vips('bandjoin', `${photo} ${alpha}`, `${result}[compression=1]`)),
      start: childCpuMs(count, () => vips('copy', join(fixtures, 'lemur-mask-320.png'), join(dir, 'start.v'))),
    }
    for (const name of ['ours', 'vips', 'start'] as const) times[name].push(one[name])
  }
  const [ours, theirs] = [median(times.ours), median(times.vips) - median(times.start)]
  return {
    name: `vips ÷ decode + compose + encode, ${megapixels} MP ${format.toUpperCase()}`,
    ratio: theirs / ours,
    target: { atLeast: 0.9 },
    detail:
      `CPU ms ${ours.toFixed(0)}, vips ${theirs.toFixed(0)} and ${median(times.start).toFixed(0)} to start; ` +
      `${kilobytes(bytes)} and ${kilobytes(statSync(result).size)} kB`,
  }
}

const kilobytes = (bytes: number): string => (bytes / 1_000).toFixed(0)

async function takeOurs(file: Uint8Array, mask: Uint8Array): Promise<Uint8Array> {
  const photo = await decodePhoto(file, maxPixels, await readHeader(file, maxPixels))
  const { rgba, ...size } = cutOut(photo, mask)
  return encodePng({ ...size, pixels: rgba, channels: 4 })
}

function vips(...args: string[]): void {
  const { status, stderr } = spawnSync('vips', args, { env: { ...process.env, VIPS_CONCURRENCY: '1' } })
  if (status !== 0) throw new Error(`vips ${args.join(' ')}: ${stderr}`)
}

async function ownCpuMs(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < count; i++) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / count
}

/** CPU time of ended children, in ticks of 10 ms. */
function childCpuMs(count: number, work: () => void): number {
  const ticks = (): number => {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return Number(fields[13]) + Number(fields[14])
  }
  const before = ticks()
  for (let i = 0; i < count; i++) work()
  return ((ticks() - before) * 10) / count
}

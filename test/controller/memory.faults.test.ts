// Memory stays within its budget for all files: the formula of image-memory.ts is checked against the worst files, and
// a process works on many large ones.
import { execFile } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { modelBytes } from '@matte/controller/worker/image/image-memory'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { nodePath } from '@matte/local/servers/process'
import { runtimeEnv } from '@matte/local/servers/runtime-env'
import sharp, { type Sharp } from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { greyPng, lemur } from '../support/photos.ts'
import { reportSkip } from '../support/report/skips.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'
import { imageEnv } from './image-env.ts'
import type { Peak } from './peak-memory.ts'

/** Noise does not compress, so file and result are large. */
const noise = (channels: 3 | 4, megapixels: number): Sharp => {
  const [width, height] = [2_000, megapixels * 500]
  return sharp(randomFillSync(Buffer.alloc(width * height * channels)), { raw: { width, height, channels } })
}
const flat = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 4, background: '#33669980' } })
const turned = { orientation: 6 }
const quick = { compressionLevel: 1, adaptiveFiltering: false }
const whole = { quality: 100, chromaSubsampling: '4:4:4', progressive: true }

const files = {
  'photo.png': () => sharp(lemur()).png(),
  'noise.png': () => noise(4, 5).png(quick),
  'noise-interlaced-turned.png': () =>
    noise(4, 5)
      .withMetadata(turned)
      .png({ ...quick, progressive: true }),
  'deep.png': () => flat(4_000, 3_000).toColourspace('rgb16').png(quick),
  'deep-interlaced-turned.png': () =>
    flat(4_000, 3_000)
      .toColourspace('rgb16')
      .withMetadata(turned)
      .png({ ...quick, progressive: true }),
  'noise.jpg': () => noise(3, 6).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }),
  'noise-progressive-turned.jpg': () => noise(3, 5).withMetadata(turned).jpeg(whole),
  'noise-cmyk.jpg': () => noise(3, 4).toColourspace('cmyk').withIccProfile('cmyk').jpeg(whole),
  'noise.webp': () => noise(4, 5).webp({ lossless: true, effort: 0 }),
  'large.webp': () => flat(5_000, 4_000).webp({ quality: 50, effort: 0 }),
} satisfies Record<string, () => Sharp>

const mallocs = [
  { name: "the system's malloc", env: runtimeEnv() },
  { name: 'the jemalloc of the image', env: imageEnv() },
]
if (imageEnv() === undefined) {
  reportSkip({ matching: 'the jemalloc of the image', reason: 'libjemalloc2 is not installed' })
}

describe.each(mallocs)('the worst files with $name', ({ env }) => {
  const folder = mkdtempSync(join(tmpdir(), 'matte-memory-'))
  let peaks: Peak[] = []

  beforeAll(async () => {
    if (env === undefined) return
    for (const [name, make] of Object.entries(files)) writeFileSync(join(folder, name), await make().toBuffer())
    const names = Object.keys(files)
    const wishes = ['photo.png=webp', ...names, 'noise.png=jpeg', 'noise.png=webp', 'deep-interlaced-turned.png=webp']
    // A quarter of the photo, scaled up to its size.
    wishes.push('noise.png=png=100%', 'noise.png=webp=100%', 'noise.jpg=jpeg=100%')
    // The subject fills the photo, so the canvas grows as far as it can.
    wishes.push('noise.png=png=original=drop', 'noise.jpg=jpeg=original=cast', 'noise.png=webp=original=drop')
    const program = join(import.meta.dirname, 'peak-memory.ts')
    const args = [program, ...wishes.map((wish) => join(folder, wish))]
    const { stdout } = await promisify(execFile)(nodePath, args, { env: { ...process.env, ...env } })
    peaks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Peak)
    expect(peaks).toHaveLength(wishes.length)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it.skipIf(env === undefined)('take no more memory than the formula allows', () => {
    // Small images add mostly the process's own memory.
    const large = peaks.filter(({ allowedBytes }) => allowedBytes > 50_000_000)
    expect(large.filter(({ addedBytes, allowedBytes }) => addedBytes > allowedBytes)).toEqual([])
    // The formula must not exceed the peak by a multiple. The grid's arrays are freed before the pixels are packed.
    const isClose = ({ addedBytes, allowedBytes }: Peak) => addedBytes > 0.85 * (allowedBytes - modelBytes(320))
    expect(large.some(isClose)).toBe(true)
  })
})

describe('a controller', () => {
  const imageMemory = 250_000_000
  const stack = useStack({ env: { worker: { IMAGE_MEMORY_BYTES: String(imageMemory), SLOTS_AHEAD: '32' } } })

  it('fetches no more bytes at once than the file budget', async () => {
    const controller = stack.process('worker')
    await cutOut(stack.client)
    const before = controller.peakMemoryBytes()
    // A small photo with 19 MB after its end: 28 of them are 530 MB, and the file budget is 31.
    const bytes = Buffer.concat([lemur(), Buffer.alloc(19_000_000)])
    await writeSetting(stack.db, 'dispatchPaused', true)
    // One after the other: half a gigabyte at once makes the store miss its probes on a slow disk.
    const tasks = []
    for (let n = 0; n < 28; n++) tasks.push(await submit(stack.client, { bytes }))
    await writeSetting(stack.db, 'dispatchPaused', false)
    for (const { id } of tasks) await untilStatus(stack.client, id, 'succeeded')
    expect(controller.peakMemoryBytes() - before).toBeLessThan(imageMemory)
  })
})

describe('a controller with default settings', () => {
  const stack = useStack()

  it('holds the pixels of few images at once, however many arrive', async () => {
    const controller = stack.process('worker')
    // 35 megapixels in four kilobytes: a legal image.
    const bomb = greyPng(7_000, 5_000)
    const tasks = await Promise.all(Array.from({ length: 8 }, () => submit(stack.client, { bytes: bomb })))
    for (const { id } of tasks) await untilStatus(stack.client, id, 'succeeded')
    // Measured: 0.48 GB, also with 32 images; 1.8 GB without the budget.
    expect(controller.peakMemoryBytes()).toBeLessThan(1_000_000_000)
  })
})

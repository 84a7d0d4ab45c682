// Memory that a worker pod needs beside IMAGE_MEMORY_BYTES: the bundle of the image, with its malloc, under the worst
// images for many rounds. Takes minutes and 3 GB; set MEMORY_ROUNDS: MEMORY_ROUNDS=30 vitest run --project faults
// test/controller/image-memory.faults.test.ts
import { execFile } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import sharp, { type Sharp } from 'sharp'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { lemur } from '../support/photos.ts'
import { reportSkip } from '../support/report/skips.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { imageEnv } from './image-env.ts'

const rounds = Number(process.env.MEMORY_ROUNDS ?? 0)
/** `controller.imageMemoryBytes` of the chart, and the rest of its limit. */
const imageMemory = 2_400_000_000
const besideMax = 400_000_000
/** Concurrent rounds, so images always wait for memory. */
const roundsOpen = 3

const own = imageEnv()

function whyNot(): string | undefined {
  if (rounds < 1) return 'takes minutes and 3 GB: set MEMORY_ROUNDS'
  return own === undefined ? 'libjemalloc2 is not installed' : undefined
}

const missing = whyNot()
if (missing !== undefined) {
  reportSkip({ matching: relative(rootDir, import.meta.filename), reason: missing })
}

const noise = (channels: 3 | 4, width: number, height: number): Sharp =>
  sharp(randomFillSync(Buffer.alloc(width * height * channels)), { raw: { width, height, channels } })
const flat = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 4, background: '#33669980' } })

/** The largest images that the plans accept: 50 megapixels, 20 MiB. Noise does not compress. */
async function makeImages(): Promise<Readonly<Record<string, Buffer>>> {
  return {
    photo: lemur(),
    large: await sharp(lemur())
      .resize(7_000, 7_000, { fit: 'fill' })
      .composite([{ input: await noise(3, 1_000, 1_000).png().toBuffer(), tile: true, blend: 'soft-light' }])
      .jpeg({ quality: 60 })
      .toBuffer(),
    flat: await flat(7_000, 7_000).webp({ quality: 50, effort: 0 }).toBuffer(),
    deep: await flat(7_000, 7_000)
      .toColourspace('rgb16')
      .withMetadata({ orientation: 6 })
      .png({ compressionLevel: 1, adaptiveFiltering: false, progressive: true })
      .toBuffer(),
    packed: await noise(4, 2_000, 2_450).png({ compressionLevel: 1, adaptiveFiltering: false }).toBuffer(),
  }
}

/** Input file and result format. WebP cannot hold 49 megapixels of noise at this quality. */
const wishes = [
  ['flat', 'webp'],
  ['large', 'png'],
  ['packed', 'png'],
  ['flat', 'webp'],
  ['packed', 'webp'],
  ['deep', 'png'],
  ['photo', 'png'],
  ['large', 'jpeg'],
  ['photo', 'webp'],
  ['packed', 'png'],
] as const

const print = (line: string): void => void process.stdout.write(`[memory] ${line}\n`)
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

describe.skipIf(missing)('a controller with the settings of the image', () => {
  const stack = useStack({ processes: ['api'] })
  let controller: RunningServer | undefined

  beforeAll(async () => {
    const dir = join(inject('runDir'), 'image-memory')
    const bundle = join(dir, 'app')
    const env = { ...process.env, BUNDLE_DIR: bundle }
    const rolldown = join(rootDir, 'node_modules/rolldown/bin/cli.mjs')
    await promisify(execFile)(nodePath, [rolldown, '-c', 'rolldown.config.ts'], { cwd: rootDir, env })
    const [port = 0] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    controller = await startServer({
      name: 'worker',
      command: nodePath,
      args: [join(bundle, 'controller.js')],
      cwd: bundle,
      env: {
        ...stack.env('worker'),
        ...own,
        HOST: '127.0.0.1',
        HEALTH_PORT: String(port),
        IMAGE_MEMORY_BYTES: String(imageMemory),
        // Enough slots that images wait only for memory.
        SLOTS_AHEAD: '32',
        // The default: images that take seconds outlast the claims of other tests.
        CLAIM_MS: '',
        CLAIM_EVERY_MS: '',
        SWEEP_EVERY_MS: '',
      },
      url,
      ports: [port],
      ready: () => answers(`${url}/readyz`),
      logFile: join(dir, 'controller.log'),
      lifetime: 'attached',
    })
  })
  afterAll(() => controller?.stop())

  const memoryOf = (field: 'VmRSS' | 'VmHWM'): number => {
    const status = readFileSync(`/proc/${controller?.pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1_024
  }

  /** Waits longer than other tests: twenty of the largest images may come first. */
  async function hasSucceeded(id: string): Promise<void> {
    const ended = async () => {
      const task = await stack.client.getTask(id)
      return task.completedAt !== null && task
    }
    expect(await until(`task ${id} has ended`, ended, { timeoutMs: 900_000, everyMs: 500 })).toMatchObject({
      status: 'succeeded',
    })
  }

  it('needs no more memory beside the images than the chart allows', { timeout: 7_200_000 }, async () => {
    const { client } = stack
    const keys: Record<string, string> = {}
    for (const [name, bytes] of Object.entries(await makeImages())) {
      print(`${name}: ${megabytes(bytes.length)}`)
      keys[name] = await client.upload(bytes)
    }
    const before = memoryOf('VmRSS')
    const open: Promise<unknown>[] = []
    for (let round = 1; round <= rounds; round++) {
      for (const [name, format] of wishes) {
        const { id } = await client.createTask({ imageUrl: keys[name], output: { format } })
        open.push(hasSucceeded(id))
      }
      await Promise.all(open.splice(0, open.length - (roundsOpen - 1) * wishes.length))
      print(`round ${round}: ${megabytes(memoryOf('VmRSS'))} now, at most ${megabytes(memoryOf('VmHWM'))}`)
    }
    await Promise.all(open)
    const peak = memoryOf('VmHWM')
    print(
      `idle ${megabytes(before)}, at most ${megabytes(peak)} with ${megabytes(imageMemory)} for images: ` +
        `${megabytes(peak - imageMemory)} beside them`,
    )
    expect(peak - imageMemory).toBeLessThan(besideMax)
    // The images must fill their budget for the measurement to count.
    expect(peak - before).toBeGreaterThan(imageMemory / 2)
  })
})

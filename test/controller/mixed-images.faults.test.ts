// After thousands of images of every kind, a controller uses as much memory as after hundreds. Takes minutes; set
// MEMORY_IMAGES: MEMORY_IMAGES=10000 vitest run --project faults test/controller/mixed-images.faults.test.ts
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { lemur, photo } from '../support/photos.ts'
import type { TestProcess } from '../support/processes.ts'
import { reportSkip } from '../support/report/skips.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { tortureCases } from '../torture/cases/all-cases.ts'
import { imageEnv } from './image-env.ts'

const images = Number(process.env.MEMORY_IMAGES ?? 0)
const warmUp = 200
/** Rounds that are averaged: single ones vary by a tenth with garbage collection. */
const compared = 5
const together = 100
const imageMemory = 600_000_000
/** The chart's limit minus IMAGE_MEMORY_BYTES (image-memory.faults.test.ts). */
const besideMax = 400_000_000

if (images === 0) {
  reportSkip({ matching: relative(rootDir, import.meta.filename), reason: 'takes minutes: set MEMORY_IMAGES' })
}

const wishes = [
  null,
  { format: 'webp' },
  { format: 'jpeg', background: '#336699' },
  { crop: true, cropMargin: '5%' },
  { maxSide: 300 },
  { channels: 'alpha' },
  { format: 'webp', maxSide: 200, background: '#ffffff80' },
] as const

const print = (line: string): void => void process.stdout.write(`[memory] ${line}\n`)
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

describe.skipIf(images === 0)('a controller under mixed images', () => {
  const stack = useStack({ processes: [] })
  let fake: Fake
  let controller: TestProcess
  beforeAll(async () => {
    fake = await startFake({ models: [{ name: 'u2netp', instances: 8 }] })
    const MODELS_STATIC = JSON.stringify([
      { name: 'service-v2', tritonModel: 'u2netp', addresses: [fake.address], default: true },
    ])
    await stack.start('api', { MODELS_STATIC })
    const env = { ...imageEnv(), MODELS_STATIC, IMAGE_MEMORY_BYTES: String(imageMemory), SLOTS_AHEAD: '16' }
    controller = await stack.start('worker', { ...env, CLAIM_MS: '', CLAIM_EVERY_MS: '', SWEEP_EVERY_MS: '' })
  })
  afterAll(() => fake.stop())

  const memoryOf = (field: 'VmRSS' | 'VmHWM'): number => {
    const status = readFileSync(`/proc/${controller.pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1_024
  }

  /** Freed memory returns to the system within two seconds. */
  const memoryWhenIdle = async (): Promise<number> => {
    let lowest = memoryOf('VmRSS')
    let since = performance.now()
    const isSteady = (): boolean => {
      const now = memoryOf('VmRSS')
      if (now < lowest - 1e6) {
        lowest = now
        since = performance.now()
      }
      return performance.now() - since > 3_000
    }
    await until('no memory is given back any more', isSteady, { everyMs: 250 })
    return lowest
  }
  const noneIsOpen = async (): Promise<boolean> => {
    for (const status of ['queued', 'processing']) {
      if ((await stack.client.listTasks({ status, pageSize: '1' })).total > 0) return false
    }
    return true
  }

  it('uses no more memory than after the first ones', { timeout: 7_200_000 }, async () => {
    const { client } = stack
    if (imageEnv() === undefined) print('libjemalloc2 is not installed: memory differs from that of the image')
    const small = await Promise.all(tortureCases.filter(({ isHeavy }) => !isHeavy).map(({ make }) => make()))
    const photos = ['astronaut.png', 'chelsea.png', 'coffee.png', 'rocket.jpg'].map(photo)
    const keys: string[] = []
    // Every third is a photo. Files that creation rejects never reach the controller.
    for (const bytes of small.flatMap((file, i) => [
      file,
      ...(i % 2 ? [[lemur(), ...photos][i % 5] ?? lemur()] : []),
    ])) {
      if (bytes.length > 0) keys.push(await client.upload(bytes))
    }
    let created = 0
    const first: number[] = []
    const last: number[] = []
    for (let index = 0; created < images || last.length < compared; ) {
      const one = async (at: number): Promise<void> => {
        const output = wishes[at % wishes.length]
        const task = { imageUrl: keys[at % keys.length], ...(output && { output }) }
        await client.createTask(task).then(
          () => void created++,
          () => undefined,
        )
      }
      await Promise.all(Array.from({ length: together }, () => one(index++)))
      await until('all have ended', noneIsOpen, { timeoutMs: 600_000, everyMs: 200 })
      if (created >= warmUp && first.length < compared) first.push(await memoryWhenIdle())
      else if (created >= images) last.push(await memoryWhenIdle())
      if (index % 1_000 === 0) print(`${created} images: ${megabytes(memoryOf('VmRSS'))}`)
    }
    const [before, after, peak] = [mean(first), mean(last), memoryOf('VmHWM')]
    print(`after ${warmUp} ${megabytes(before)}, after ${images} ${megabytes(after)}: ${(after / before).toFixed(3)}`)
    print(`at most ${megabytes(peak)}, of ${megabytes(imageMemory + besideMax)} by the formula`)
    expect(after / before).toBeLessThanOrEqual(1.1)
    expect(peak).toBeLessThan(imageMemory + besideMax)
    expect(fake.counts().done).toBeGreaterThan(created / 4)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})

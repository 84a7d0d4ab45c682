// Files of the torture set through the whole service, and all of them many times over. test/torture checks each with
// the controller's functions; this test checks that the process agrees and keeps no memory.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { runtimeEnv } from '@matte/local/servers/runtime-env'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { greyPng, lemur } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { download, submit, untilStatus } from '../support/tasks.ts'
import { tortureCases } from '../torture/cases/all-cases.ts'
import { secret } from '../torture/files/metadata.ts'

const chosen = [
  'PNG of 2-bit palette with transparency',
  'interlaced PNG of 16-bit grey with alpha',
  'JPEG with EXIF orientation 6',
  'WebP with EXIF orientation 5',
  'JPEG with XMP',
  'progressive arithmetic JPEG',
  'JPEG of two components',
  '12-bit JPEG',
  'animated WebP',
  'PNG of 1 × 1',
  'PNG of 20000 × 1',
  'JPEG of 1 × 20000',
  '16-bit PNG in P3',
  'YCCK by Adobe',
  'JPEG with a profile of noise',
  'progressive JPEG cut after 9 tenths',
  'JPEG of noise behind its header (1)',
  'PNG with missing rows',
  'JPEG with unneeded bytes',
  'PNG whose pixels unpack to 40 MB too much',
  'JPEG that claims 7,000 × 7,000',
]

describe('the service', () => {
  const stack = useStack({ processes: [], env: { worker: { SLOTS_AHEAD: '8' } } })
  let fake: Fake
  beforeAll(async () => {
    fake = await startFake({ models: [{ name: 'u2netp', instances: 4 }] })
    const MODELS_STATIC = JSON.stringify([
      { name: 'service-v2', tritonModel: 'u2netp', addresses: [fake.address], default: true },
    ])
    await stack.start('api', { MODELS_STATIC })
    await stack.start('worker', { MODELS_STATIC })
  })
  afterAll(() => fake.stop())

  it('has the expected outcome for each file, and writes no metadata of the input', async () => {
    const cases = chosen.map((name) => tortureCases.find((one) => one.name === name))
    const tasks = await Promise.all(
      cases.map(async (one) => {
        if (one === undefined) throw new Error('a chosen file is not in the set')
        return { ...one, task: await submit(stack.client, { bytes: await one.make() }) }
      }),
    )
    for (const { outcome, task, name } of tasks) {
      if (typeof outcome === 'string') {
        const { failure } = await untilStatus(stack.client, task.id, 'failed')
        expect(failure, name).toMatchObject({ reason: outcome, retryable: false })
        continue
      }
      const { width, height, resultUrl } = await untilStatus(stack.client, task.id, 'succeeded')
      expect([width, height], name).toEqual([outcome.width, outcome.height])
      const result = await download(resultUrl)
      expect(result.includes(secret), name).toBe(false)
      const { orientation, exif, xmp } = await sharp(result).metadata()
      expect([orientation, exif, xmp], name).toEqual([undefined, undefined, undefined])
    }
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('accepts a file of exactly the maximum bytes and pixels of the plan, and no more', async () => {
    const most = 20 * 1_048_576
    const padded = (bytes: number) => Buffer.concat([lemur(), Buffer.alloc(bytes - lemur().length)])
    const { client } = stack
    const full = await submit(client, { bytes: padded(most) })
    const large = await submit(client, { bytes: greyPng(10_000, 5_000) })
    await untilStatus(client, full.id, 'succeeded')
    expect(await untilStatus(client, large.id, 'succeeded')).toMatchObject({ width: 10_000, height: 5_000 })
    const refused = { status: 400, code: 'TASK_FILE_SIZE_EXCEEDED' }
    const wider = Buffer.from(greyPng(42_123, 1_187))
    await expect(submit(client, { bytes: wider })).rejects.toMatchObject({ ...refused, details: { limit: 'pixels' } })
  })

  it.each([
    ['webp', 16_383],
    ['jpeg', 65_500],
  ] as const)('writes %s up to the longest side of the format', async (format, most) => {
    const asked = async (side: number) => {
      const imageUrl = await stack.client.upload(greyPng(1, side))
      return (await stack.client.createTask({ imageUrl, output: { format } })).id
    }
    const [full, over] = [await asked(most), await asked(most + 1)]
    expect(await untilStatus(stack.client, full, 'succeeded')).toMatchObject({ height: most })
    const { failure } = await untilStatus(stack.client, over, 'failed')
    expect(failure).toMatchObject({ reason: 'INPUT_TOO_LARGE' })
  })
})

describe('the torture set, many times over', () => {
  // `make memory` runs more rounds.
  const rounds = Number(process.env.TORTURE_ROUNDS ?? 7)

  it('leaks no memory', { timeout: 7_200_000 }, async () => {
    const args = ['--expose-gc', join(rootDir, 'test/torture/rounds.ts'), String(rounds)]
    const { stdout } = await promisify(execFile)(nodePath, args, { env: { ...process.env, ...runtimeEnv() } })
    const bytes = stdout.trim().split('\n').map(Number)
    expect(bytes).toHaveLength(rounds)
    // The first rounds load and compile.
    expect((bytes.at(-1) ?? Number.NaN) / (bytes[2] ?? Number.NaN)).toBeLessThan(1.1)
  })
})

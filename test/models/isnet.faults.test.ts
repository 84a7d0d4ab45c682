// IS-Net from its published file to cut-outs, beside u2netp in one Triton and in a separate one. Fetches 113 MB, so it
// needs MATTE_TEST_ISNET=1.
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchIsnet } from '@matte/local/models/isnet'
import { readProcessor } from '@matte/local/models/model-repository'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { photo } from '../support/photos.ts'
import { reportSkip } from '../support/report/skips.ts'
import { type OwnServer, ownTriton } from '../support/servers.ts'
import { useStack } from '../support/stack.ts'
import { download, untilStatus } from '../support/tasks.ts'
import { addModels } from './add-models.ts'
import { untilOffered } from './until-offered.ts'

const isWanted = process.env.MATTE_TEST_ISNET === '1'
if (!isWanted) reportSkip({ matching: 'isnet.faults.test.ts', reason: 'it fetches 113 MB: set MATTE_TEST_ISNET=1' })

describe.skipIf(!isWanted)('IS-Net', () => {
  const stack = useStack({ processes: isWanted ? ['api'] : [] })
  const folder = isWanted ? mkdtempSync(join(inject('runDir'), 'isnet-')) : ''
  let triton: OwnServer
  beforeAll(async () => {
    const { file, licences } = await fetchIsnet(sayToTerminal)
    expect(licences).toContain('GNU Affero General Public License')
    const target = join(folder, 'models')
    const wish = ['--name', 'isnet-general', '--model-version', 'fine-1', '--licence', 'Apache-2.0', '--target', target]
    const network = ['--mean', '.5', '--std', '1', '--scale', '256', '--output', 'output', '--bf16']
    const [answer] = await addModels([[file, ...wish, ...network]])
    expect(answer).toMatchObject({ failed: false, said: expect.stringContaining('1024 x 1024, fp16, any batch, slow') })
    cpSync(join(rootDir, 'models/u2netp'), join(target, 'u2netp'), { recursive: true })
    triton = await ownTriton({ dir: join(folder, 'triton'), say: () => undefined }, { source: target })
  }, 600_000)
  afterAll(() => triton?.stop())

  it.each([
    ['beside u2netp in one pod', (own: string) => own],
    ['in a pod of its own', () => inject('tritonAddress')],
  ] as const)('cuts out the lemur, %s, for tasks that name it', { timeout: 600_000 }, async (_what, defaultAt) => {
    const models = [
      { name: 'service-v2', tritonModel: 'u2netp', addresses: [defaultAt(triton.url)], default: true },
      { name: 'fine-1', tritonModel: 'isnet-general', addresses: [triton.url] },
    ]
    const controller = await stack.start('worker', {
      MODELS_STATIC: JSON.stringify(models),
      INFERENCE_TIMEOUT_MS: '300000',
    })
    for (const { name } of models) await untilOffered(stack.client, name)
    const imageUrl = await stack.client.upload(photo('lemur.png'))
    const made = await Promise.all(
      ['fine-1', 'service-v2'].map((modelVersion) => stack.client.createTask({ imageUrl, modelVersion })),
    )
    const results: Buffer[] = []
    for (const { id } of made) {
      const task = await untilStatus(stack.client, id, 'succeeded')
      const png = await download(task.resultUrl)
      writeFileSync(join(folder, `${task.modelVersion}.png`), png)
      results.push(await alphaOf(png))
      process.stdout.write(`${task.modelVersion}: ${task.durationMs} ms\n`)
    }
    const form = (await readProcessor()).amx ? 'bf16' : 'fp16'
    expect((await readMetrics(controller)).sum('matte_model_pods', { model: 'isnet-general', form })).toBe(1)
    const [fine = Buffer.alloc(0), small = Buffer.alloc(0)] = results
    const truth = await sharp(photo('lemur-alpha.png')).extractChannel(0).raw().toBuffer()
    // Measured: 0.949.
    expect(overlap(fine, truth)).toBeGreaterThan(0.93)
    expect(fine.equals(small)).toBe(false)
    process.stdout.write(`${controller.name}: peak ${Math.round(controller.peakMemoryBytes() / 1e6)} MB\n`)
    await controller.stop()
  })
})

const alphaOf = (png: Buffer): Promise<Buffer> => sharp(png).extractChannel('alpha').raw().toBuffer()

/** Soft intersection over union. */
function overlap(a: Buffer, b: Buffer): number {
  let [inBoth, inEither] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    inBoth += Math.min(a[i] ?? 0, b[i] ?? 0)
    inEither += Math.max(a[i] ?? 0, b[i] ?? 0)
  }
  return inBoth / inEither
}

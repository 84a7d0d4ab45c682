import { join, resolve } from 'node:path'
import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openModel, type TritonModel } from './triton-model.ts'

const references = resolve(import.meta.dirname, '../fixtures/u2netp')
const imageBytes = 320 * 320 * 3
const maskBytes = 320 * 320

describe('u2netp, through Triton', () => {
  let model: TritonModel
  beforeAll(() => {
    model = openModel(inject('tritonAddress'), 'u2netp')
  })
  afterAll(() => model.close())

  it('takes UINT8 [N,320,320,3] and gives UINT8 [N,320,320]', async () => {
    const { alpha, datatype, shape } = await model.infer(new Uint8Array(imageBytes), 1)
    expect({ bytes: alpha.length, datatype, shape }).toEqual({
      bytes: maskBytes,
      datatype: 'UINT8',
      shape: [1, 320, 320],
    })
  })

  it('says what it is to the controller', async () => {
    const client = connectTriton(loadTriton(), inject('tritonAddress'))
    const shape = await client.readyModel('u2netp').finally(() => client.close())
    expect(shape).toMatchObject({ inputSize: 320, form: 'fp32', licence: 'Apache-2.0', speed: 'fast' })
  })

  it.each(['lemur', 'astronaut'])(
    'gives the original network’s probability for %s to within one grey level',
    async (photo) => {
      const image = await pixels(`${photo}-input.png`, 3)
      const { alpha } = await model.infer(image, 1)
      expect(largestDifference(alpha, await pixels(`${photo}-alpha.png`, 1))).toBeLessThanOrEqual(1)
    },
  )

  it('gives each image of a batch the same mask as alone', async () => {
    const images = await Promise.all([pixels('lemur-input.png', 3), pixels('astronaut-input.png', 3)])
    const { alpha, shape } = await model.infer(Buffer.concat(images), 2)
    expect(shape).toEqual([2, 320, 320])
    for (const [index, image] of images.entries()) {
      const alone = await model.infer(image, 1)
      expect(alpha.subarray(index * maskBytes, (index + 1) * maskBytes)).toEqual(alone.alpha)
    }
  })

  it.each([
    ['black', 0],
    ['grey', 128],
    ['white', 255],
  ])('leaves a %s image, which shows nothing, at low probability: no stretching to full range', async (_, level) => {
    const { alpha } = await model.infer(new Uint8Array(imageBytes).fill(level), 1)
    expect(Math.max(...alpha)).toBeLessThan(128)
  })

  it('refuses an image of another size with a reason', async () => {
    await expect(model.infer(new Uint8Array(imageBytes - 3), 1)).rejects.toThrow(/image|size/)
  })
})

async function pixels(name: string, channels: number): Promise<Buffer> {
  const image = sharp(join(references, name))
  const { data, info } = await (channels === 1 ? image.toColourspace('b-w') : image)
    .raw()
    .toBuffer({ resolveWithObject: true })
  expect([info.width, info.height, info.channels]).toEqual([320, 320, channels])
  return data
}

function largestDifference(a: Uint8Array, b: Uint8Array): number {
  expect(a.length).toBe(b.length)
  return a.reduce((largest, value, index) => Math.max(largest, Math.abs(value - (b[index] ?? Number.NaN))), 0)
}

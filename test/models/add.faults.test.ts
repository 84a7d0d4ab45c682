// Networks in the usual forms, added by `make model-add` and served by the real Triton and the service.
import { mkdtempSync, readFileSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { readProcessor } from '@matte/local/models/model-repository'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startFake } from '../support/fake-triton.ts'
import { type OwnServer, ownTriton } from '../support/servers.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, download, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { addModels, makeGraphs } from './add-models.ts'
import { largestError, maps, pictureOf } from './tiny-maps.ts'
import { openModel } from './triton-model.ts'
import { untilOffered } from './until-offered.ts'

const folder = mkdtempSync(join(inject('runDir'), 'added-'))
const graph = (name: string): string => join(folder, 'graphs', `${name}.onnx`)
const asIs = ['--mean', '0', '--std', '1']

/** Networks of graphs/make.py and their options. */
const good = {
  'one-image': [...asIs, '--model-version', 'one'],
  logits: [
    '--input-size',
    '64',
    '--mean',
    '.5,.4,.3',
    '--std',
    '.25',
    '--output',
    'alpha',
    '--sigmoid',
    '--views',
    '2',
  ],
  half: ['--input-size', '1024', '--mean', '.5', '--std', '1', '--scale', '128', '--bf16'],
  stretched: ['--input-size', '64', ...asIs],
} as const

type Name = keyof typeof good
const names = Object.keys(good) as Name[]
const sizes: Readonly<Record<Name, number>> = { 'one-image': 64, logits: 64, half: 1024, stretched: 64 }

/** Added twice. */
const twins = ['one-image', 'logits'] as const

const argumentsFor = (name: Name, target: string): string[] => [
  graph(name),
  ...['--name', name, '--licence', 'MIT', '--target', join(folder, target)],
  ...good[name],
]

const { amx, vnni } = await readProcessor()
/** `--bf16` computes in bf16 only where the processor supports it. */
const half = amx ? 'bf16' : 'fp16'

let triton: OwnServer
beforeAll(async () => {
  await mkdir(join(folder, 'graphs'))
  await makeGraphs(join(folder, 'graphs'))
  const runs = [...names.map((name) => [name, 'models'] as const), ...twins.map((name) => [name, 'again'] as const)]
  const answers = await addModels(runs.map(([name, target]) => argumentsFor(name, target)))
  expect(answers.filter(({ failed }) => failed)).toEqual([])
  triton = await ownTriton({ dir: join(folder, 'triton'), say: () => undefined }, { source: join(folder, 'models') })
})
afterAll(() => triton?.stop())

describe('make model-add', () => {
  it('writes the same bytes for the same file and options', async () => {
    for (const name of twins) {
      const files = await readdir(join(folder, 'again', name), { recursive: true, withFileTypes: true })
      const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
      expect(paths).toHaveLength(6)
      for (const path of paths) {
        const twin = path.replace(join(folder, 'again'), join(folder, 'models'))
        expect(readFileSync(path).equals(readFileSync(twin)), path).toBe(true)
      }
    }
  })

  it.each(names)('declares the properties of %s, which the controller reads from Triton', async (name) => {
    const client = connectTriton(loadTriton(), triton.url)
    const shape = await client.readyModel(name).finally(() => client.close())
    expect(shape).toMatchObject({
      inputSize: sizes[name],
      licence: 'MIT',
      form: name === 'half' ? half : 'fp32',
      speed: 'fast',
      views: name === 'logits' ? 2 : 1,
    })
  })

  it.each(['one-image', 'logits', 'half'] as const)('serves %s exactly to one grey level', async (name) => {
    const size = sizes[name]
    const model = openModel(triton.url, name, size)
    const picture = pictureOf(size, 1)
    const { alpha, datatype, shape } = await model.infer(picture, 1).finally(() => model.close())
    expect({ datatype, shape }).toEqual({ datatype: 'UINT8', shape: [1, size, size] })
    expect(largestError(alpha, picture, maps[name])).toBeLessThanOrEqual(1)
  })

  it('allows batches of two if each image gets the same mask as alone', async () => {
    const model = openModel(triton.url, 'logits', 64)
    const both = [pictureOf(64, 1), pictureOf(64, 2)]
    try {
      const singles = await Promise.all(both.map((picture) => model.infer(picture, 1)))
      const { alpha } = await model.infer(Buffer.concat(both), 2)
      expect(alpha.equals(Buffer.concat(singles.map((one) => one.alpha)))).toBe(true)
    } finally {
      model.close()
    }
  })

  it.each(['one-image', 'stretched'] as const)(
    'makes Triton refuse batches of two for %s, whose masks would be wrong',
    async (name) => {
      const model = openModel(triton.url, name, 64)
      const two = model.infer(Buffer.alloc(2 * 64 * 64 * 3), 2).finally(() => model.close())
      await expect(two).rejects.toThrow(/Expected \[1,64,64,3\], got \[2,64,64,3\]/)
    },
  )

  it('lists the files with checksums', async () => {
    const listed = JSON.parse(readFileSync(join(folder, 'models/models.json'), 'utf8'))
    expect(Object.keys(listed)).toEqual(['one', 'logits', 'half', 'stretched'])
    expect(listed.one).toMatchObject({
      folder: 'one-image',
      licence: 'MIT',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })
})

describe('the service', () => {
  const stack = useStack({ processes: ['api'] })
  beforeAll(async () => {
    const added = [
      { name: 'one', tritonModel: 'one-image', addresses: [triton.url] },
      { name: 'half', tritonModel: 'half', addresses: [triton.url] },
      { name: 'logits', tritonModel: 'logits', addresses: [triton.url] },
    ]
    await stack.start('worker', ({ MODELS_STATIC = '[]', ...env }) => ({
      ...env,
      MODELS_STATIC: JSON.stringify([...JSON.parse(MODELS_STATIC), ...added]),
    }))
    for (const { name } of added) await untilOffered(stack.client, name)
  })

  /** White, grey and black thirds, by the networks' own maps. */
  it.each([
    ['one', { grey: [140, 162], black: [0, 5] }],
    ['half', { grey: [164, 184], black: [0, 5] }],
    ['logits', { grey: [170, 230], black: [20, 60] }],
  ] as const)('cuts out with the model named by a task, of any size: %s', async (modelVersion, expected) => {
    const imageUrl = await stack.client.upload(await thirds())
    const { id } = await stack.client.createTask({ imageUrl, modelVersion })
    const task = await untilStatus(stack.client, id, 'succeeded')
    expect(task).toMatchObject({ modelVersion, width: 300, height: 200 })
    const alpha = await sharp(await download(task.resultUrl))
      .extractChannel('alpha')
      .raw()
      .toBuffer()
    const at = (x: number): number => alpha[100 * 300 + x] ?? -1
    expect(at(50)).toBeGreaterThan(250)
    for (const [x, [least, most]] of [
      [150, expected.grey],
      [250, expected.black],
    ] as const) {
      expect(at(x)).toBeGreaterThanOrEqual(least)
      expect(at(x)).toBeLessThanOrEqual(most)
    }
  })

  it('lists the properties of each for callers', async () => {
    type Page = { items: readonly { modelVersion: string; speed: string | null }[] }
    const { items } = await until('the pods have reported their models', async () => {
      const { data } = await stack.client.call<Page>('GET', '/models')
      return data.items.every(({ speed }) => speed !== null) && data
    })
    const rest = { speed: 'fast', licence: 'MIT', default: false }
    const views = vnni ? 2 : 1
    expect(items).toEqual([
      { modelVersion: 'half', inputSize: 1024, views: 1, ...rest },
      { modelVersion: 'logits', inputSize: 64, views: 2, ...rest },
      { modelVersion: 'one', inputSize: 64, views: 1, ...rest },
      // Its form and views depend on the processor.
      { modelVersion: 'service-v2', inputSize: 320, views, ...rest, licence: 'Apache-2.0', default: true },
    ])
  })

  it('has the default beside them, in a separate Triton', async () => {
    const task = await cutOut(stack.client)
    expect(task).toMatchObject({ modelVersion: 'service-v2', width: 680, height: 440 })
    expect(task.foreground).not.toBeNull()
  })

  it('serves no model with a rejected licence, and names it', async () => {
    await stack.process('worker').stop()
    const models = [{ name: 'one', tritonModel: 'one-image', addresses: [triton.url], default: true }]
    const controller = await stack.start('worker', {
      MODELS_STATIC: JSON.stringify(models),
      MODELS_ALLOWED_LICENCES: 'Apache-2.0,ISC',
    })
    const line = await controller.untilLogged('pod not usable')
    expect(line).toMatchObject({ model: 'one-image', err: { message: expect.stringContaining('licensed under MIT') } })
    const imageUrl = await stack.client.upload(await thirds())
    const { id } = await stack.client.createTask({ imageUrl, modelVersion: 'one' })
    await stack.start('worker', { MODELS_STATIC: JSON.stringify(models), MODELS_ALLOWED_LICENCES: 'MIT' })
    expect(await untilStatus(stack.client, id, 'succeeded')).toMatchObject({ modelVersion: 'one' })
    expect(controller.log().some(({ msg }) => msg === 'task succeeded')).toBe(false)
  })

  it('counts the input of a large model as image memory: one at a time if two do not fit', async () => {
    const fake = await startFake({
      models: [{ name: 'large', inputSize: 2048, instances: 4 }],
      behaviour: { serviceMs: 300 },
    })
    // 67 MB each, of a pixel budget of 87.
    await stack.start('worker', {
      MODELS_STATIC: JSON.stringify([
        { name: 'large', tritonModel: 'large', addresses: [fake.address], default: true },
      ]),
      IMAGE_MEMORY_BYTES: '100000000',
    })
    await untilOffered(stack.client, 'large')
    const imageUrl = await stack.client.upload(await thirds())
    const made = await Promise.all([1, 2].map(() => stack.client.createTask({ imageUrl, modelVersion: 'large' })))
    for (const { id } of made) await untilStatus(stack.client, id, 'succeeded')
    expect(fake.counts()).toMatchObject({ done: 2, inFlightMax: 1 })
    await fake.kill()
  })
})

const thirds = (): Promise<Buffer> =>
  sharp(Buffer.from([255, 150, 0]), { raw: { width: 3, height: 1, channels: 1 } })
    .resize(300, 200, { kernel: 'nearest', fit: 'fill' })
    .toColourspace('srgb')
    .png()
    .toBuffer()

describe('make model-add refuses', () => {
  const add = (name: string, ...more: string[]) => [
    graph(name),
    ...['--name', 'refused', '--target', join(folder, 'refused'), ...more],
  ]
  const mit = ['--licence', 'MIT']
  const sized = [...mit, '--input-size', '64']
  const cases: [string, string[], string][] = [
    ['a web page instead of a model', add('text', ...mit), 'is not an ONNX file'],
    ['an empty file', add('empty', ...mit), 'is not an ONNX file'],
    ['a missing file', add('absent', ...mit), 'does not exist'],
    ['no licence', add('half'), 'required: --licence'],
    ['a licence in words', add('half', '--licence', 'ask us'), 'not an SPDX expression'],
    ['an open size', add('half', ...mit), 'give the one to serve with --input-size'],
    ['a size that is not a multiple of 4', add('half', ...mit, '--input-size', '318'), 'must be a multiple of 4'],
    ['another size than the graph’s', add('one-image', ...mit, '--input-size', '320'), 'the graph takes 64 only'],
    ['several outputs and no choice', add('logits', ...sized), '0: alpha FLOAT [n,1,h,w], 1: side FLOAT [n,1,h,w]'],
    ['a missing output', add('logits', ...sized, '--output', '2'), '--output 2: the graph has 0: alpha'],
    ['logits without --sigmoid', add('logits', ...sized, '--output', '0'), 'not from 0 to 1: give --sigmoid'],
    ['probabilities with --sigmoid', add('half', ...sized, ...asIs, '--sigmoid'), 'already probabilities'],
    ['two channels', add('two-channels', ...sized, ...asIs), 'gives [1, 2, 64, 64] for one image, not one map of 64'],
    [
      'a map of another size',
      add('smaller', ...sized, ...asIs),
      'gives [1, 1, 32, 32] for one image, not one map of 64',
    ],
    ['two inputs', add('two-inputs', ...sized), 'must have one input, an image'],
    ['numbers beyond half precision', add('half', ...sized, '--std', '1e-9'), 'is not a number for a test image'],
    ['two numbers for a mean', add('half', ...sized, '--mean', '1,2'), 'is not three numbers'],
    ['a name that is a path', add('half', ...sized, '--name', '../half'), '--name ../half'],
    ['a name that exists', [...argumentsFor('half', 'models')], 'exists: give --replace'],
    [
      'the modelVersion of another model',
      [...argumentsFor('half', 'models'), '--name', 'other', '--model-version', 'one'],
      'one is the modelVersion of one-image already',
    ],
  ]
  let answers: Awaited<ReturnType<typeof addModels>>
  beforeAll(async () => {
    answers = await addModels(cases.map(([, args]) => args))
  })

  it.each(cases.map(([what, , message], index) => [what, message, index] as const))('%s', (_what, message, index) => {
    expect(answers[index]).toEqual({ failed: true, said: expect.stringContaining(message) })
  })

  it('and leaves nothing behind', async () => {
    expect(await readdir(join(folder, 'refused')).catch(() => [])).toEqual([])
  })
})

import { cp, lstat, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { prepareModelRepository, withInstanceCount } from './model-repository.ts'

const source = resolve(import.meta.dirname, '../../../models')

const plain = { vnni: false, amx: false }
const newest = { vnni: true, amx: true }

describe('prepareModelRepository', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'matte-models-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('writes one instance per core and changes nothing else in the configuration', async () => {
    const target = join(folder, 'models')
    const models = await prepareModelRepository({ source, target, cores: 6, processor: plain })
    expect(models).toContainEqual({ name: 'u2netp', config: 'cpu' })
    const written = await readFile(join(target, 'u2netp/configs/cpu.pbtxt'), 'utf8')
    const original = await readFile(join(source, 'u2netp/configs/cpu.pbtxt'), 'utf8')
    expect(written).toContain('instance_group [ { kind: KIND_CPU count: 6 } ]')
    expect(written.replace('count: 6', 'count: 1')).toBe(original)
    for (const name of ['config.pbtxt', 'configs/gpu.pbtxt']) {
      expect(await readFile(join(target, 'u2netp', name))).toEqual(await readFile(join(source, 'u2netp', name)))
    }
  })

  it.each([
    ['cpu-vnni-openvino', true],
    ['cpu-vnni', false],
  ])('uses %s on a processor with VNNI if the model has it; OpenVINO: %s', async (config, openvino) => {
    const target = join(folder, 'models')
    const models = await prepareModelRepository({ source, target, cores: 6, processor: newest, openvino })
    expect(models).toContainEqual({ name: 'u2netp', config })
    const written = await readFile(join(target, 'u2netp/configs/cpu.pbtxt'), 'utf8')
    const original = await readFile(join(source, `u2netp/configs/${config}.pbtxt`), 'utf8')
    expect(written).toBe(original.replace('kind: KIND_CPU count: 1', 'kind: KIND_CPU count: 6'))
  })

  it('falls back to the next configuration of the model, and finally to that for any processor', async () => {
    await cp(join(source, 'u2netp'), join(folder, 'source/u2netp'), { recursive: true })
    const [target, own] = [join(folder, 'models'), join(folder, 'source')]
    const prepared = () => prepareModelRepository({ source: own, target, cores: 1, processor: newest })
    const openvino = join(folder, 'source/u2netp/configs/cpu-vnni-openvino.pbtxt')
    await cp(openvino, openvino.replace('vnni', 'amx'))
    expect(await prepared()).toEqual([{ name: 'u2netp', config: 'cpu-amx-openvino' }])
    await rm(openvino.replace('vnni', 'amx'))
    await rm(openvino)
    expect(await prepared()).toEqual([{ name: 'u2netp', config: 'cpu-vnni' }])
    await rm(join(folder, 'source/u2netp/configs/cpu-vnni.pbtxt'))
    expect(await prepared()).toEqual([{ name: 'u2netp', config: 'cpu' }])
  })

  it('links the weights, and skips entries that are not models', async () => {
    const target = join(folder, 'models')
    await prepareModelRepository({ source, target, cores: 1 })
    expect(await realpath(join(target, 'u2netp/1/model.onnx'))).toBe(join(source, 'u2netp/1/model.onnx'))
    // Otherwise Python would write bytecode into `models/`.
    expect((await lstat(join(target, 'u2netp/1'))).isDirectory()).toBe(true)
    await expect(stat(join(target, 'models.json'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('replaces the files of an earlier start with other cores', async () => {
    const target = join(folder, 'models')
    await prepareModelRepository({ source, target, cores: 2 })
    await prepareModelRepository({ source, target, cores: 3 })
    expect(await readFile(join(target, 'u2netp/configs/cpu.pbtxt'), 'utf8')).toContain('count: 3')
  })

  it.each([0, -1, 1.5, Number.NaN])('refuses %s cores', async (cores) => {
    await expect(prepareModelRepository({ source, target: join(folder, 'models'), cores })).rejects.toThrow(RangeError)
  })
})

describe('withInstanceCount', () => {
  it.each([
    ['instance_group [ { count: 1 } ]', 'instance_group [ { count: 4 } ]'],
    [
      'instance_group [\n  {\n    count: 12\n    kind: KIND_CPU\n  }\n]',
      'instance_group [\n  {\n    count: 4\n    kind: KIND_CPU\n  }\n]',
    ],
    [
      'instance_group [{count:1}]\nmodel_warmup [ { count: 2 } ]',
      'instance_group [{count:4}]\nmodel_warmup [ { count: 2 } ]',
    ],
  ])('changes the count in %j', (config, changed) => {
    expect(withInstanceCount(config, 4)).toBe(changed)
  })

  it.each(['', 'instance_group [ { kind: KIND_CPU } ]', 'instance_group [ { count: 1 }, { count: 2 } ]'])(
    'refuses %j, which has no single count',
    (config) => {
      expect(() => withInstanceCount(config, 4)).toThrow('exactly one instance_group')
    },
  )
})

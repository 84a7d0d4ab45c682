import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import models from '../../models/models.json' with { type: 'json' }

const repository = resolve(import.meta.dirname, '../../models')

describe('models/models.json', () => {
  it.each(Object.entries(models))('%s has the checksums of the committed weights', async (_, model) => {
    const { folder, file, sha256, forms } = model
    for (const form of [{ file, sha256 }, ...Object.values(forms)]) {
      const weights = await readFile(join(repository, folder, form.file))
      expect([form.file, createHash('sha256').update(weights).digest('hex')]).toEqual([form.file, form.sha256])
    }
    const weights = (await readdir(join(repository, folder, '1'))).filter((name) => !name.endsWith('.py'))
    const files = weights.map((name) => `1/${name}`)
    expect(files.sort()).toEqual([file, ...Object.values(forms).map((form) => form.file)].sort())
  })

  it('names exactly one default', () => {
    expect(Object.values(models).filter((model) => model.default)).toHaveLength(1)
  })

  it('names every folder of the repository', async () => {
    const entries = await readdir(repository, { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(Object.values(models).map(({ folder }) => folder)).toEqual(expect.arrayContaining(folders))
  })
})

const linesOf = async (folder: string, name: string) =>
  (await readFile(join(repository, folder, name), 'utf8')).match(
    /^(name|backend|input|output|parameters \{ key: "matte\.)\b.*$/gm,
  ) ?? []

describe.each([...new Set(Object.values(models).map(({ folder }) => folder))])('models/%s', (folder) => {
  it('declares the same tensors and properties in every configuration, except a GPU’s views', async () => {
    const names = ['config.pbtxt', 'configs/cpu.pbtxt', 'configs/gpu.pbtxt']
    const [base, ...tuned] = await Promise.all(names.map((name) => linesOf(folder, name)))
    expect(base?.length).toBeGreaterThan(4)
    const shared = (lines: readonly string[] = []) => lines.filter((line) => !line.includes('"matte.views"'))
    for (const lines of tuned) expect(shared(lines)).toEqual(shared(base))
  })

  it.each([
    ['cpu-vnni', /"matte\.(form|views)"/],
    ['cpu-vnni-openvino', /^backend|"matte\.(form|views)"/],
  ])('differs only in form, views and backend on processors with VNNI: %s', async (name, own) => {
    if (!existsSync(join(repository, folder, `configs/${name}.pbtxt`))) return
    const others = (lines: readonly string[]) => lines.filter((line) => !own.test(line))
    const lines = await linesOf(folder, `configs/${name}.pbtxt`)
    expect(others(lines)).toEqual(others(await linesOf(folder, 'config.pbtxt')))
    expect(lines).toContain('parameters { key: "matte.form" value: { string_value: "int8" } }')
  })

  it.each(['README.md', 'LICENSE'])('has a %s', async (name) => {
    expect((await readFile(join(repository, folder, name), 'utf8')).length).toBeGreaterThan(0)
  })
})

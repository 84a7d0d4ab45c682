import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import models from '../../models/models.json' with { type: 'json' }

const repository = resolve(import.meta.dirname, '../../models')

describe('models/models.json', () => {
  it.each(Object.entries(models))(
    '%s has the checksum of the committed weights',
    async (_, { folder, file, sha256 }) => {
      const weights = await readFile(join(repository, folder, file))
      expect(createHash('sha256').update(weights).digest('hex')).toBe(sha256)
    },
  )

  it('names exactly one default', () => {
    expect(Object.values(models).filter((model) => model.default)).toHaveLength(1)
  })

  it('names every folder of the repository', async () => {
    const entries = await readdir(repository, { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(Object.values(models).map(({ folder }) => folder)).toEqual(expect.arrayContaining(folders))
  })
})

describe.each([...new Set(Object.values(models).map(({ folder }) => folder))])('models/%s', (folder) => {
  it('declares the same tensors and properties in every configuration', async () => {
    const [base, ...tuned] = await Promise.all(
      ['config.pbtxt', 'configs/cpu.pbtxt', 'configs/gpu.pbtxt'].map(async (name) =>
        (await readFile(join(repository, folder, name), 'utf8')).match(
          /^(name|backend|input|output|parameters \{ key: "matte\.)\b.*$/gm,
        ),
      ),
    )
    expect(base?.length).toBeGreaterThan(4)
    for (const lines of tuned) expect(lines).toEqual(base)
  })

  it.each(['README.md', 'LICENSE'])('has its %s beside it', async (name) => {
    expect((await readFile(join(repository, folder, name), 'utf8')).length).toBeGreaterThan(0)
  })
})

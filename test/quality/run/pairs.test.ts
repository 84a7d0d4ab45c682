import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readPairs } from './pairs.ts'

describe('readPairs', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'matte-pairs-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (name: string, channels: 1 | 3 | 4, pixels: number[]) =>
    sharp(Uint8Array.from(pixels), { raw: { width: 2, height: 1, channels } }).toFile(join(folder, name))

  it('reads a grey image or an alpha channel, and colours if they are known', async () => {
    await write('one.png', 3, [10, 20, 30, 40, 50, 60])
    await write('one.alpha.png', 1, [0, 128])
    await write('two.png', 3, [10, 20, 30, 40, 50, 60])
    await write('two.alpha.png', 4, [1, 1, 1, 7, 1, 1, 1, 255])
    await write('two.foreground.png', 3, [1, 2, 3, 4, 5, 6])
    const [one, two] = await Promise.all((await readPairs(folder)).map((read) => read()))
    expect(one).toMatchObject({ name: `${basename(folder)}-one`, kind: basename(folder), hasColours: false })
    expect([...(one?.truth.rgba ?? [])]).toEqual([10, 20, 30, 0, 40, 50, 60, 128])
    expect(two?.hasColours).toBe(true)
    expect([...(two?.truth.rgba ?? [])]).toEqual([1, 2, 3, 7, 4, 5, 6, 255])
  })

  it('names the missing file', async () => {
    await expect(readPairs(folder)).rejects.toThrow('no file that ends in .alpha.png')
    await write('one.alpha.png', 1, [0, 128])
    await expect(readPairs(folder)).rejects.toThrow('one.alpha.png')
    await sharp({ create: { width: 3, height: 1, channels: 3, background: '#fff' } }).toFile(join(folder, 'one.png'))
    const [read] = await readPairs(folder)
    await expect(read?.()).rejects.toThrow('another size than one.png')
  })
})

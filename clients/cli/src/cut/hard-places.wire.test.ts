// `matte cut` with file names, links and disks that are unusual. Nothing is paid for a result that has no place.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeService, png, startFakeService } from '../testing/fake-service.fixtures.ts'
import { newFolder, runCli } from '../testing/run-cli.fixtures.ts'
import { hashOf } from './results.ts'

let service: FakeService
let cwd: string

beforeEach(async () => {
  service = await startFakeService()
  cwd = newFolder()
  mkdirSync(join(cwd, 'photos'))
})
afterEach(() => service.stop())

const givenPhoto = (name: string | Buffer): void => {
  const path = Buffer.concat([Buffer.from(`${cwd}/photos/`), Buffer.from(name)])
  writeFileSync(path, Buffer.concat([png, Buffer.from(name)]))
}
const matte = (...args: string[]) => runCli(args, { cwd, env: service.env })
const results = (): string[] => readdirSync(join(cwd, 'cut')).filter((name) => !name.startsWith('.'))

describe('matte cut', { timeout: 60_000 }, () => {
  it.each([
    'with space.jpg',
    '-dash.jpg',
    'ünï 日本語 🎈.jpg',
    'brackets[1].jpg',
    '{a,b}.jpg',
    'star*.jpg',
    'quote\'".jpg',
    'back\\slash.jpg',
    'UPPER.JPG',
    `${'x'.repeat(246)}.jpg`,
    `${'漢'.repeat(83)}.jpg`,
  ])('takes the name %s', async (name) => {
    givenPhoto(name)
    expect(await matte('cut', 'photos', '--out', 'cut')).toMatchObject({ code: 0, stderr: expect.any(String) })
    expect(results()).toEqual([name.replace(/\.jpg$/i, '.png')])
    expect(await matte('cut', '--out', 'again', '--', `photos/${name}`)).toMatchObject({ code: 0 })
  })

  it('prints a name with control characters on one line', async () => {
    givenPhoto('new\nline\u001b[31m.jpg')
    const { stdout } = await matte('cut', 'photos', '--out', 'cut')
    expect(stdout).toMatch(/^photos\/new line \[31m\.jpg → .*\n$/)
    expect(results()).toEqual(['new\nline\u001b[31m.png'])
  })

  it('fails only the photo whose name is not UTF-8, and says so', async () => {
    givenPhoto('a.jpg')
    givenPhoto(Buffer.from([0xff, 0xfe, ...Buffer.from('.jpg')]))
    const { code, stderr } = await matte('cut', 'photos', '--out', 'cut')
    expect(code).toBe(1)
    expect(stderr).toContain('Its name is not UTF-8. Rename it.')
    expect(results()).toEqual(['a.png'])
  })

  it('cuts linked photos, and follows no link to a folder, so a circle pays nothing twice', async () => {
    givenPhoto('a.jpg')
    symlinkSync('a.jpg', join(cwd, 'photos/b.jpg'))
    symlinkSync('..', join(cwd, 'photos/up'))
    symlinkSync('nowhere.jpg', join(cwd, 'photos/c.jpg'))
    expect(await matte('cut', 'photos', '--out', 'cut')).toMatchObject({ code: 0 })
    expect(results().sort()).toEqual(['a.png', 'b.png'])
    expect(service.creations).toHaveLength(2)
  })

  it.each([
    ['a name that becomes too long beside the photo', `${'x'.repeat(250)}.jpg`, [], /more than 255 bytes/],
    ['a file in place of a folder', 'a.jpg', ['-o', 'photos/a.jpg/b.png'], /is not a folder/],
    ['a format that the service does not write', 'a.jpg', ['-o', 'b.gif'], /names a format/],
  ])('refuses %s before it pays', async (_what, name, options, message) => {
    givenPhoto(name)
    const { code, stderr } = await matte('cut', `photos/${name}`, ...options)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
    expect(service.creations).toEqual([])
  })

  it('stops when the disk is full, and a later run writes the paid result', async () => {
    for (const name of ['a.jpg', 'b.jpg', 'c.jpg']) givenPhoto(name)
    mkdirSync(join(cwd, 'cut'))
    // Every temporary file is on a full device.
    const temporary = ['a.png', 'b.png', 'c.png'].map((name) =>
      join(cwd, `cut/.matte-${hashOf(name).slice(0, 16)}.part`),
    )
    for (const path of temporary) symlinkSync('/dev/full', path)
    const cut = ['cut', 'photos', '--out', 'cut', '--jobs', '1']
    const { code, stderr } = await matte(...cut)
    expect(code).toBe(1)
    expect(stderr).toContain('no space left on device')
    expect(stderr).toContain('run the same command again')
    const paid = service.creations.length
    expect(paid).toBeLessThan(3)
    for (const path of temporary) rmSync(path, { force: true })
    expect(await matte(...cut)).toMatchObject({ code: 0 })
    expect(service.creations).toHaveLength(3)
    expect(results().sort()).toEqual(['a.png', 'b.png', 'c.png'])
    expect(readFileSync(join(cwd, 'cut/a.png')).subarray(0, png.length)).toEqual(png)
  })
})

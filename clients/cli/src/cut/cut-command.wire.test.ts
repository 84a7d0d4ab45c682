// `matte cut` as a process against a service over HTTP.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeService, png, startFakeService } from '../testing/fake-service.fixtures.ts'
import { mainPath, newFolder, parseLines, runCli, startCli } from '../testing/run-cli.fixtures.ts'
import { until } from '../testing/until.fixtures.ts'

const timeout = { timeout: 60_000 }

let service: FakeService
let cwd: string

beforeEach(async () => {
  service = await startFakeService()
  cwd = newFolder()
})
afterEach(() => service.stop())

/** Distinct images, so none is mistaken for another. */
const givenPhotos = (...paths: string[]): void => {
  for (const path of paths) {
    mkdirSync(join(cwd, path, '..'), { recursive: true })
    writeFileSync(join(cwd, path), Buffer.concat([png, Buffer.from(path)]))
  }
}
const matte = (...args: string[]) => runCli(args, { cwd, env: service.env })
const cutFiles = (): string[] => readdirSync(join(cwd, 'cut'), { recursive: true }).map(String).sort()

describe('matte cut', timeout, () => {
  it('writes the result of a single photo beside it, and leaves nothing else behind', async () => {
    givenPhotos('photo.jpg')
    const { code, stdout, stderr } = await matte('cut', 'photo.jpg')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`photo.jpg → photo-cutout.png  1×1, ${png.length} B\n`)
    expect(readFileSync(join(cwd, 'photo-cutout.png'))).toEqual(png)
    expect(readdirSync(cwd).sort()).toEqual(['photo-cutout.png', 'photo.jpg'])
  })

  it('keeps the tree of a folder, passes the options on, and prints a line of JSON per image', async () => {
    givenPhotos('photos/a.jpg', 'photos/b/c.png', 'photos/notes.txt', 'photos/.hidden.jpg')
    const { code, stdout } = await matte(
      'cut',
      'photos',
      '--out',
      'cut',
      '--format',
      'webp',
      '--crop-margin',
      '5%',
      '--json',
    )
    expect(code).toBe(0)
    expect(cutFiles()).toEqual(['.matte-manifest.jsonl', 'a.webp', 'b', 'b/c.webp'])
    expect(service.creations).toHaveLength(2)
    expect(service.creations[0]?.output).toEqual({ format: 'webp', crop: true, cropMargin: '5%' })
    expect(parseLines(stdout).map(({ input, output, status }) => ({ input, output, status }))).toEqual(
      expect.arrayContaining([
        { input: 'photos/a.jpg', output: 'cut/a.webp', status: 'succeeded' },
        { input: 'photos/b/c.png', output: 'cut/b/c.webp', status: 'succeeded' },
      ]),
    )
  })

  it('places the foreground as asked, and explains a wrong place', async () => {
    givenPhotos('photo.jpg')
    const place = ['--roi', '10% 0px 90% 100%', '--scale', '80%', '--position', '50% 100%', '--max-pixels', '4000000']
    expect(await matte('cut', 'photo.jpg', ...place)).toMatchObject({ code: 0 })
    expect(service.creations[0]?.output).toEqual({
      roi: { left: '10%', top: '0px', right: '90%', bottom: '100%' },
      scale: '80%',
      position: '50% 100%',
      maxPixels: 4_000_000,
    })
    const refused = await matte('cut', 'photo.jpg', '--roi', '10%')
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("'10% 0px 90% 100%'") })
    expect(service.creations).toHaveLength(1)
  })

  it('asks for a shadow, and explains one without a kind', async () => {
    givenPhotos('photo.jpg')
    const shadow = ['--shadow', 'drop', '--shadow-opacity', '60', '--shadow-blur', '20px', '--shadow-angle', '180']
    expect(await matte('cut', 'photo.jpg', ...shadow, '--shadow-color', '#102030', '--shadow-grow')).toMatchObject({
      code: 0,
    })
    expect(service.creations[0]?.output).toEqual({
      shadow: { kind: 'drop', opacity: 60, blur: '20px', angle: 180, color: '#102030', grow: true },
    })
    for (const wrong of [['--shadow-grow'], ['--shadow', 'soft'], ['--shadow', 'drop', '--shadow-angle', '360']]) {
      expect(await matte('cut', 'photo.jpg', '--overwrite', ...wrong)).toMatchObject({ code: 2 })
    }
    const { stderr } = await matte('cut', 'photo.jpg', '--overwrite', '--shadow-grow')
    expect(stderr).toContain('Add --shadow drop, --shadow contact or --shadow cast.')
    expect(service.creations).toHaveLength(1)
  })

  it('pays for no image twice: not for done ones, not after a touch, but for changed ones and removed results', async () => {
    givenPhotos('photos/a.jpg', 'photos/b.jpg', 'photos/c.jpg')
    const args = ['cut', 'photos', '--out', 'cut', '--json']
    await matte(...args)
    utimesSync(join(cwd, 'photos/a.jpg'), 1, 1)
    writeFileSync(join(cwd, 'photos/b.jpg'), Buffer.concat([png, Buffer.from('changed')]))
    const second = parseLines((await matte(...args)).stdout)
    expect(second.map(({ input, status }) => `${input} ${status}`).sort()).toEqual([
      'photos/a.jpg skipped',
      'photos/b.jpg succeeded',
      'photos/c.jpg skipped',
    ])
    expect(service.creations).toHaveLength(4)
  })

  it('continues after kill -9: every result is there, and every image was paid once', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `photos/${index}.jpg`)
    givenPhotos(...names)
    for (const stopAt of [4, 8]) {
      const blocked = { release: (): void => undefined }
      service.beforeCreation = () =>
        service.creations.length <= stopAt
          ? Promise.resolve()
          : new Promise((resolve) => {
              blocked.release = resolve
            })
      const run = startCli(['cut', 'photos', '--out', 'cut', '--jobs', '2'], { cwd, env: service.env })
      await until(() => service.creations.length > stopAt)
      run.process.kill('SIGKILL')
      await run.ended
      blocked.release()
    }
    service.beforeCreation = () => Promise.resolve()
    const { code, stderr } = await matte('cut', 'photos', '--out', 'cut')
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(cutFiles().filter((name) => name.endsWith('.png'))).toHaveLength(12)
    expect(cutFiles().filter((name) => name.endsWith('.part'))).toEqual([])
    expect(service.creations).toHaveLength(12)
  })

  it('lets no second run write to the same folder', async () => {
    givenPhotos('photos/a.jpg', 'photos/b.jpg')
    let release = (): void => undefined
    service.beforeCreation = () =>
      new Promise((resolve) => {
        release = resolve
      })
    const first = startCli(['cut', 'photos', '--out', 'cut', '--jobs', '1'], { cwd, env: service.env })
    await until(() => service.creations.length === 1)
    const second = await matte('cut', 'photos', '--out', 'cut')
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('Another matte cut writes to cut') })
    service.beforeCreation = () => Promise.resolve()
    release()
    expect((await first.ended).code).toBe(0)
  })

  it('leaves a file alone that it did not write, unless --overwrite says so', async () => {
    givenPhotos('photo.jpg')
    writeFileSync(join(cwd, 'photo-cutout.png'), 'mine')
    expect((await matte('cut', 'photo.jpg')).stdout).toContain('skipped: the result exists')
    expect(readFileSync(join(cwd, 'photo-cutout.png'), 'utf8')).toBe('mine')
    expect(service.creations).toHaveLength(0)
    await matte('cut', 'photo.jpg', '--overwrite')
    expect(readFileSync(join(cwd, 'photo-cutout.png'))).toEqual(png)
  })

  it('reads stdin and writes stdout', async () => {
    const { code, stdout, stderr } = await runCli(['cut', '-'], { cwd, env: service.env, input: png })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('IHDR')
    const toFile = await runCli(['cut', '-', '-o', 'x.webp'], { cwd, env: service.env, input: png })
    expect(toFile.code).toBe(0)
    expect(service.creations[1]?.output).toEqual({ format: 'webp' })
    expect(existsSync(join(cwd, 'x.webp'))).toBe(true)
  })

  it('previews without a key, without a request and without a file', async () => {
    givenPhotos('photos/a.jpg')
    const { code, stdout, stderr } = await runCli(['cut', 'photos/*.jpg', '--out', 'cut', '--dry-run'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'photos/a.jpg → cut/a.png  cut: new\n' })
    expect(stderr).toContain('1 image to cut, 0 to skip. Nothing was sent.')
    expect(existsSync(join(cwd, 'cut'))).toBe(false)
  })

  it('stops at the first image when credits are used up, exits with 4, and says how to go on', async () => {
    givenPhotos(...Array.from({ length: 20 }, (_, index) => `photos/${index}.jpg`))
    service.refuse = (method, path) =>
      method === 'POST' && path === '/tasks' && service.creations.length >= 3
        ? { status: 400, code: 'CREDITS_INSUFFICIENT', message: 'The workspace has no credits left.' }
        : undefined
    const { code, stderr } = await matte('cut', 'photos', '--out', 'cut', '--jobs', '1')
    expect(code).toBe(4)
    expect(stderr).toContain('The workspace has no credits left. [CREDITS_INSUFFICIENT]')
    expect(stderr).toContain('Buy credits, then run the same command again.')
    expect(stderr).toContain('request req-error')
    expect(stderr).toContain('3 images cut, 17 not processed')
  })

  it('exits with 1 when some images failed, and goes on with the others', async () => {
    givenPhotos('photos/a.jpg', 'photos/b.jpg')
    writeFileSync(join(cwd, 'photos/empty.jpg'), '')
    const { code, stdout, stderr } = await matte('cut', 'photos', '--out', 'cut')
    expect(code).toBe(1)
    expect(stdout.split('\n')).toHaveLength(3)
    expect(stderr).toContain('photos/empty.jpg: ')
    expect(stderr).toContain('2 images cut, 1 failed')
  })

  it.each([
    [['cut', 'nothing.jpg'], 2, 'nothing.jpg does not exist.'],
    [['cut', 'photos', '-o', 'x.png'], 2, '-o names one file, but there are 2 images.'],
    [['cut', 'photos', '--format', 'gif'], 2, 'Allowed choices are png, webp, jpeg, jpg.'],
    [['cut', 'photos', '--jobs', '0'], 2, 'Give an integer from 1 to 256.'],
    [['cut', 'photos', '--max-side', '70000'], 2, 'Give an integer from 1 to 65,535.'],
    [['cut'], 2, "missing required argument 'images'"],
    [['cat'], 2, "unknown command 'cat'"],
  ])('%j exits with %i: %s', async (args, exitCode, message) => {
    givenPhotos('photos/a.jpg', 'photos/b.jpg')
    const { code, stderr } = await matte(...args)
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) })
  })

  it.each([
    ['without a key', {}, 3, 'There is no API key.'],
    ['with a wrong key', { MATTE_API_KEY: 'service_live_wrong' }, 3, 'The API key is invalid.'],
  ])('exits with its code %s', async (_, change, exitCode, message) => {
    givenPhotos('photo.jpg')
    const env = 'MATTE_API_KEY' in change ? { ...service.env, ...change } : {}
    const { code, stderr } = await runCli(['cut', 'photo.jpg'], { cwd, env })
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) })
    expect(stderr).not.toContain('service_live')
  })

  it('cancels what is queued on Ctrl-C, exits with 130, and continues later', async () => {
    givenPhotos('photos/a.jpg', 'photos/b.jpg', 'photos/c.jpg')
    let release = (): void => undefined
    service.beforeCreation = () =>
      service.creations.length < 2
        ? Promise.resolve()
        : new Promise((resolve) => {
            release = resolve
          })
    const run = startCli(['cut', 'photos', '--out', 'cut', '--jobs', '1'], { cwd, env: service.env })
    await until(() => service.creations.length === 2)
    run.process.kill('SIGINT')
    service.beforeCreation = () => Promise.resolve()
    release()
    expect((await run.ended).code).toBe(130)
    expect((await matte('cut', 'photos', '--out', 'cut')).code).toBe(0)
    expect(cutFiles().filter((name) => name.endsWith('.png'))).toHaveLength(3)
  })

  it.skipIf(spawnSync('script', ['--version']).error)(
    'draws a bar on a terminal, and wipes it at the end',
    async () => {
      givenPhotos(...Array.from({ length: 5 }, (_, index) => `photos/${index}.jpg`))
      const command = `stty cols 100; '${process.execPath}' '${mainPath}' cut photos --out cut`
      const env = { ...process.env, ...service.env, HOME: cwd }
      const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd, env })
      const shown = await text(terminal.stdout)
      const frames = shown.split('\r\u001b[2K')
      expect(frames).toContainEqual(
        expect.stringMatching(/^[█░]{20} \d\/5 images {2}\d+ % .* left .* images\/s .* [kM]?B\/s$/),
      )
      expect(frames.at(-1)).toMatch(/^5 images cut in .*\r\n$/)
    },
  )

  it('watches a folder: existing, new and changed photos, until Ctrl-C', async () => {
    givenPhotos('photos/a.jpg')
    const run = startCli(['cut', 'photos', '--out', 'photos/cut', '--watch', '--json'], { cwd, env: service.env })
    const results = join(cwd, 'photos/cut')
    await until(() => existsSync(join(results, 'a.png')))
    givenPhotos('photos/deep/b.jpg')
    await until(() => existsSync(join(results, 'deep/b.png')))
    writeFileSync(join(cwd, 'photos/a.jpg'), Buffer.concat([png, Buffer.from('again')]))
    await until(() => service.creations.length === 3)
    await until(() => readFileSync(join(results, '.matte-manifest.jsonl'), 'utf8').split('"saved"').length === 4)
    run.process.kill('SIGINT')
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(parseLines(stdout).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  })
})

import { describe, expect, it } from 'vitest'
import { commonFolder, formatOfName, outputOf, planJobs } from './plan.ts'
import { decide, parseResults, type ResultLine } from './results.ts'
import { baseOfPattern, isWanted, nameOfUrl } from './sources.ts'
import { createQueue } from './watch.ts'

const target = { keepExtension: false, format: 'png' }
const source = (input: string, relative = input) => ({ input, relative })

describe('names of results', () => {
  it.each([
    [source('photo.jpg'), {}, 'photo-cutout.png'],
    [source('a/b.c/photo.final.jpg', 'photo.final.jpg'), {}, 'a/b.c/photo.final-cutout.png'],
    [source('photo.jpg'), { format: 'jpeg' }, 'photo-cutout.jpg'],
    [source('photos/a/1.jpg', 'a/1.jpg'), { dir: 'cut', format: 'webp' }, 'cut/a/1.webp'],
    [source('photos/a/1.jpg', 'a/1.jpg'), { dir: 'cut', keepExtension: true }, 'cut/a/1.jpg.png'],
    [source('photo.jpg'), { file: 'x/y.webp' }, 'x/y.webp'],
    [source('https://example.com/a/chair.jpg', 'chair.jpg'), {}, 'chair-cutout.png'],
  ])('%o with %o is %s', (one, options, output) => {
    expect(outputOf(one, { ...target, ...options })).toBe(output)
  })

  it('refuses two images with one result before anything is paid, and names the way out', () => {
    const sources = [source('photos/a.jpg', 'a.jpg'), source('photos/a.png', 'a.png')]
    expect(() => planJobs(sources, { ...target, dir: 'cut' })).toThrow('both be written to cut/a.png')
    expect(planJobs(sources, { ...target, dir: 'cut', keepExtension: true }).map(({ output }) => output)).toEqual([
      'cut/a.jpg.png',
      'cut/a.png.png',
    ])
  })

  it('refuses to write a result over its image', () => {
    expect(() => planJobs([source('photos/a.png', 'a.png')], { ...target, dir: 'photos' })).toThrow(
      'replace photos/a.png',
    )
  })

  it.each([
    ['x.WEBP', 'webp'],
    ['x.jpg', 'jpeg'],
    ['x.gif', undefined],
    ['x', undefined],
  ])('the format of %s is %s', (name, format) => {
    expect(formatOfName(name)).toBe(format)
  })

  it('finds the folder that holds all results', () => {
    expect(commonFolder(['/a/b/1.png', '/a/b/c/2.png', '/a/b/3.png'])).toBe('/a/b')
    expect(commonFolder(['/a/1.png', '/b/2.png'])).toBe('/')
    expect(commonFolder(['/a/b/1.png'])).toBe('/a/b')
  })
})

describe('images of a folder', () => {
  it.each([
    ['a.JPG', true],
    ['a.webp', true],
    ['a.gif', false],
    ['paper-cutout.png', true],
  ])('%s is taken: %s', (path, isTaken) => {
    expect(isWanted(path, () => false)).toBe(isTaken)
  })

  it('leaves out the result of an image beside it', () => {
    const exists = (path: string): boolean => path === 'x/a.jpg'
    expect(['x/a-cutout.png', 'x/a.jpg-cutout.png', 'x/b-cutout.png'].map((path) => isWanted(path, exists))).toEqual([
      false,
      false,
      true,
    ])
  })

  it.each([
    ['photos/**/*.jpg', 'photos/'],
    ['*.jpg', ''],
    ['/data/a/{b,c}/*.png', '/data/a/'],
  ])('the folder of %s is "%s"', (pattern, base) => {
    expect(baseOfPattern(pattern)).toBe(base)
  })

  it.each([
    ['https://example.com/a/chair%20red.jpg?x=1', 'chair red.jpg'],
    ['https://example.com/', 'image'],
    ['https://example.com/..%2F..%2Fetc%2Fpasswd', '_.._etc_passwd'],
    ['https://example.com/%E0%A4%A', '_E0_A4_A'],
  ])('the name of %s is %s', (url, name) => {
    expect(nameOfUrl(url)).toBe(name)
  })
})

describe('what a later run does', () => {
  const line: ResultLine = {
    result: 'a.png',
    state: 'saved',
    input: 'a.jpg',
    stamp: { sizeBytes: 10, modifiedMs: 1 },
    sha256: 'x',
    options: 'o',
    resultBytes: 99,
    taskId: 't',
  }
  const wanted = { path: 'a.png', stamp: { sizeBytes: 10, modifiedMs: 1 }, options: 'o', overwrite: false }

  it.each([
    ['cuts an image without a result', undefined, {}, undefined, 'cut'],
    ['skips a finished image', line, {}, 99, 'skip'],
    ['cuts it again with --overwrite', line, { overwrite: true }, 99, 'cut'],
    ['cuts it again with other options', line, { options: 'p' }, 99, 'cut'],
    ['cuts a changed image again', line, { stamp: { sizeBytes: 11, modifiedMs: 2 } }, 99, 'cut'],
    ['cuts it again when its result was removed', line, {}, undefined, 'cut'],
    ['finishes a result that a crash interrupted', { ...line, state: 'saving' as const }, {}, 99, 'cut'],
    ['replaces a result of another size, which is an older one', line, {}, 98, 'cut'],
    ['leaves a file alone that it did not write', undefined, {}, 99, 'skip'],
  ])('%s', (_, known, changes, resultBytes, action) => {
    expect(decide(known, { ...wanted, ...changes }, resultBytes)).toMatchObject({ action })
  })

  it('reads the last line of each result, beside lines of the client and a torn one', () => {
    const lines = [{ matte: 'manifest' }, { ...line, state: 'saving' }, { key: 'a.png', state: 'done' }, line]
    const text = `${lines.map((each) => JSON.stringify(each)).join('\n')}\n{"result":"b.png","st`
    expect([...parseResults(text).values()]).toEqual([line])
  })
})

describe('the queue of --watch', () => {
  it('keeps a file that changes during its work for afterwards, once', async () => {
    const queue = createQueue()
    const paths = queue.paths()
    queue.add('a')
    expect(await paths.next()).toEqual({ done: false, value: 'a' })
    queue.add('a')
    queue.add('a')
    queue.add('b')
    expect(await paths.next()).toEqual({ done: false, value: 'b' })
    const next = paths.next()
    queue.finished('a')
    expect(await next).toEqual({ done: false, value: 'a' })
    const last = paths.next()
    queue.end()
    expect((await last).done).toBe(true)
  })
})

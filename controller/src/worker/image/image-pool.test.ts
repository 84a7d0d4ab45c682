import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput, shadowDefaults } from '@matte/core/task/output'
import sharp from 'sharp'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { joinMasks } from '../augmentation/join-masks.ts'
import { mirrorBack } from '../augmentation/mirror.ts'
import { applyOutput } from './apply-output.ts'
import { cutOut } from './cut-out/cut-out.ts'
import type { Photo } from './cut-out/sample-cells.ts'
import { ImageError } from './image-error.ts'
import { createImagePool, type ImagePool } from './image-pool.ts'

const newPhoto = (width = 60, height = 40): Photo => ({
  pixels: Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 37) % 256),
  channels: 3,
  width,
  height,
})
const webp = { ...defaultOutput, format: 'webp' } as const
const mask = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 < 30 ? 255 : 0))

let pool: ImagePool | undefined
afterEach(() => pool?.close())

/** A thread that hangs if the mask begins with 1, and dies if it begins with 2. */
const failingWorker = `export default ({ mask }) => {
  while (mask[0] === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  if (mask[0] === 2) process.exit(3)
  return { file: 'fine' }
}`
const folder = mkdtempSync(join(tmpdir(), 'matte-image-pool-'))
const workerUrl = pathToFileURL(join(folder, 'failing-worker.mjs'))
writeFileSync(workerUrl, failingWorker)
afterAll(() => rmSync(folder, { recursive: true }))

const stuck = Uint8Array.from([1])
const deadly = Uint8Array.from([2])
const harmless = Uint8Array.from([0])

describe('image pool', () => {
  it('returns what cutOut returns, and moves the pixels instead of copying them', async () => {
    pool = createImagePool(1)
    const photo = newPhoto()
    const { pixels } = photo
    const result = await pool.cutOut({ photo, mask, output: webp })
    expect(result).toEqual(applyOutput(cutOut(newPhoto(), mask), webp))
    expect(pixels.length).toBe(0)
    expect(mask.length).toBe(64 * 64)
  })

  it.each([
    ['as it is', null],
    ['over a colour', { ...defaultOutput, background: '#336699' }],
    ['over a colour that shows through', { ...defaultOutput, background: '#33669980' }],
    ['cropped with a margin', { ...defaultOutput, crop: true, cropMargin: '5px' }],
    ['alpha alone', { ...defaultOutput, channels: 'alpha' }],
    ['no larger than it is', { ...defaultOutput, maxSide: 60 }],
  ] as [string, Output | null][])('returns a file for a PNG of full size: %s', async (_name, output) => {
    pool = createImagePool(1)
    const made = await pool.cutOut({ photo: newPhoto(), mask, output })
    if (!('file' in made)) throw new Error('no file')
    const image = applyOutput(cutOut(newPhoto(), mask), output)
    const { width, height, foreground, channels } = image
    expect(made).toEqual({ file: made.file, width, height, foreground, encodeMs: expect.any(Number) })
    const read = channels === 1 ? sharp(made.file).toColourspace('b-w') : sharp(made.file)
    expect(new Uint8Array(await read.raw().toBuffer())).toEqual(image.pixels)
  })

  it.each([
    ['another format', { ...defaultOutput, format: 'jpeg' }],
    ['another size', { ...defaultOutput, maxSide: 59 }],
  ] as [string, Output][])('returns pixels for %s', async (_name, output) => {
    pool = createImagePool(1)
    expect(await pool.cutOut({ photo: newPhoto(), mask, output })).toEqual(
      applyOutput(cutOut(newPhoto(), mask), output),
    )
  })

  it('joins the mask of the mirror image with that of the photo', async () => {
    pool = createImagePool(1)
    // Each view sees the left edge of its image; mirrored back, the second one is the right edge.
    const edge = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 < 20 ? 255 : 0))
    const both = Uint8Array.from(edge)
    joinMasks(both, mirrorBack(edge, 64), newPhoto())
    expect(both[63]).toBe(255)
    const made = await pool.cutOut({ photo: newPhoto(), mask: edge, mirrored: edge, output: webp })
    expect(made).toEqual(applyOutput(cutOut(newPhoto(), both), webp))
    expect(made).not.toEqual(applyOutput(cutOut(newPhoto(), edge), webp))
    expect(edge.length).toBe(64 * 64)
  })

  it('takes more calls than it has threads', async () => {
    pool = createImagePool(2)
    const images = pool
    const results = await Promise.all(
      Array.from({ length: 9 }, (_, i) => images.cutOut({ photo: newPhoto(20 + i, 10), mask, output: null })),
    )
    expect(results.map(({ width }) => width)).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28])
  })

  it('copies only the bytes of the mask, not its message', async () => {
    pool = createImagePool(1)
    const message = new Uint8Array(10_000_000)
    message.set(mask, 77)
    const view = message.subarray(77, 77 + mask.length)
    expect(await pool.cutOut({ photo: newPhoto(), mask: view, output: webp })).toEqual(
      applyOutput(cutOut(newPhoto(), mask), webp),
    )
    expect(message.length).toBe(10_000_000)
  })

  it('reports what the thread throws', async () => {
    pool = createImagePool(1)
    await expect(pool.cutOut({ photo: newPhoto(), mask: new Uint8Array(7), output: null })).rejects.toThrow(
      'a mask of 7 bytes',
    )
    expect((await pool.cutOut({ photo: newPhoto(), mask, output: null })).foreground).not.toBeNull()
  })

  it('rejects with an ImageError when a shadow makes the result too large', async () => {
    pool = createImagePool(1)
    const shadow = { kind: 'drop', ...shadowDefaults.drop, grow: true } as const
    const task = { photo: newPhoto(), mask, output: { ...defaultOutput, shadow }, pixelsMax: 60 * 40 }
    await expect(pool.cutOut(task)).rejects.toBeInstanceOf(ImageError)
    await expect(pool.cutOut({ ...task, photo: newPhoto() })).rejects.toMatchObject({ reason: 'INPUT_TOO_LARGE' })
    expect((await pool.cutOut({ ...task, photo: newPhoto(), pixelsMax: 100_000 })).width).toBeGreaterThanOrEqual(60)
  })

  it('aborts a running or waiting call, and continues with others', async () => {
    pool = createImagePool(1, workerUrl)
    const stop = new AbortController()
    const running = pool.cutOut({ photo: newPhoto(), mask: stuck, output: null }, stop.signal)
    const waiting = pool.cutOut({ photo: newPhoto(), mask: harmless, output: null }, stop.signal)
    stop.abort()
    await expect(running).rejects.toMatchObject({ name: 'AbortError' })
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    expect(await pool.cutOut({ photo: newPhoto(), mask: harmless, output: null })).toEqual({ file: 'fine' })
    await expect(pool.cutOut({ photo: newPhoto(), mask: harmless, output: null }, stop.signal)).rejects.toMatchObject({
      name: 'AbortError',
    })
  })

  it('survives a thread that dies, and rejects only the call it had', async () => {
    pool = createImagePool(1, workerUrl)
    const doomed = pool.cutOut({ photo: newPhoto(), mask: deadly, output: null })
    const next = pool.cutOut({ photo: newPhoto(), mask: harmless, output: null })
    await expect(doomed).rejects.toThrow()
    expect(await next).toEqual({ file: 'fine' })
  })

  it('closes after the calls in progress', async () => {
    pool = createImagePool(1)
    const calls = [
      pool.cutOut({ photo: newPhoto(), mask, output: null }),
      pool.cutOut({ photo: newPhoto(), mask, output: null }),
    ]
    const closed = pool.close()
    for (const { foreground } of await Promise.all(calls)) expect(foreground).not.toBeNull()
    await closed
    await expect(pool.cutOut({ photo: newPhoto(), mask, output: null })).rejects.toThrow()
    pool = undefined
  })
})

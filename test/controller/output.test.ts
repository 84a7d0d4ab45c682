// Output options on real images, from the request to the pixels of the downloaded file. apply-output.test.ts covers the
// combinations.
import type { Output, Shadow } from '@matte/core/db/tables/task'
import sharp from 'sharp'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../support/client.ts'
import { greyPng, lemur } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { download, untilStatus } from '../support/tasks.ts'

const stack = useStack({ processes: ['api', 'worker'] })

type Result = { readonly task: Task; readonly file: Buffer; readonly type: string; readonly name: string }

type Wish = Omit<Partial<Output>, 'shadow'> & { readonly shadow?: Partial<Output['shadow']> }

async function cutOut(imageUrl: string, output?: Wish): Promise<Result> {
  const { id } = await stack.client.createTask({ imageUrl, ...(output && { output }) })
  const task = await untilStatus(stack.client, id, 'succeeded')
  const response = await fetch(task.resultUrl ?? '', { method: 'GET' })
  const type = response.headers.get('content-type') ?? ''
  const name = /filename="[^"]*(\.\w+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? ''
  await response.arrayBuffer()
  return { task, file: await download(task.resultUrl), type, name }
}

const rawOf = (file: Buffer) => sharp(file).raw().toBuffer({ resolveWithObject: true })

/** Largest difference of two rasters of one size. */
function furthest(one: Buffer, other: Buffer): number {
  expect(one.length).toBe(other.length)
  let most = 0
  for (const [i, value] of one.entries()) most = Math.max(most, Math.abs(value - (other[i] ?? 0)))
  return most
}

describe('the lemur', () => {
  let imageUrl = ''
  let plain: Result | undefined
  beforeAll(async () => {
    imageUrl = await stack.client.upload(lemur())
    plain = await cutOut(imageUrl)
  })
  const original = (): Result => {
    if (plain === undefined) throw new Error('the plain result exists only within tests')
    return plain
  }

  it('is a PNG of the same size by default', async () => {
    const { task, file, type, name } = original()
    expect([task.resultFormat, type, name]).toEqual(['png', 'image/png', '.png'])
    const { width, height } = await sharp(lemur()).metadata()
    expect(await sharp(file).metadata()).toMatchObject({ format: 'png', channels: 4, width, height })
    expect([task.width, task.height]).toEqual([width, height])
    expect(task.foreground).not.toBeNull()
  })

  it('is a WebP with the same alpha', async () => {
    const { task, file, type, name } = await cutOut(imageUrl, { format: 'webp' })
    expect([task.resultFormat, type, name]).toEqual(['webp', 'image/webp', '.webp'])
    const alphaOf = (bytes: Buffer) => sharp(bytes).extractChannel('alpha').raw().toBuffer()
    expect(furthest(await alphaOf(file), await alphaOf(original().file))).toBe(0)
  })

  it('is a JPEG over white, and over a colour', async () => {
    const white = await cutOut(imageUrl, { format: 'jpeg' })
    expect([white.task.resultFormat, white.type, white.name]).toEqual(['jpeg', 'image/jpeg', '.jpg'])
    const onWhite = await rawOf(white.file)
    expect(onWhite.info.channels).toBe(3)
    expect(Math.min(...onWhite.data.subarray(0, 3))).toBeGreaterThan(250)
    const { data } = await rawOf((await cutOut(imageUrl, { format: 'jpeg', background: '#204060' })).file)
    for (const [i, value] of [0x20, 0x40, 0x60].entries()) expect(Math.abs((data[i] ?? 0) - value)).toBeLessThan(8)
  })

  it('over a colour equals the default result composited on it', async () => {
    const { file } = await cutOut(imageUrl, { background: '#ff8000' })
    const expected = await sharp(original().file).flatten({ background: '#ff8000' }).raw().toBuffer()
    const { data, info } = await rawOf(file)
    expect(info.channels).toBe(3)
    expect(furthest(data, expected)).toBeLessThanOrEqual(1)
  })

  it('is cropped to its foreground, without and with a margin', async () => {
    const { foreground, width, height } = original().task
    if (foreground === null || width === null || height === null) throw new Error('the lemur was not found')
    const { task, file } = await cutOut(imageUrl, { crop: true })
    expect([task.width, task.height]).toEqual([foreground.width, foreground.height])
    expect(task.foreground).toEqual({ top: 0, left: 0, width: foreground.width, height: foreground.height })
    const part = await sharp(original().file).extract(foreground).raw().toBuffer()
    expect(furthest((await rawOf(file)).data, part)).toBe(0)
    const wide = (await cutOut(imageUrl, { crop: true, cropMargin: '20px' })).task
    const left = Math.min(20, foreground.left)
    const top = Math.min(20, foreground.top)
    expect(wide.foreground).toEqual({ ...foreground, top, left })
    expect(wide.width).toBe(left + Math.min(width - foreground.left, foreground.width + 20))
    expect(wide.height).toBe(top + Math.min(height - foreground.top, foreground.height + 20))
  })

  it('is scaled down, never up', async () => {
    const { task, file } = await cutOut(imageUrl, { maxSide: 100 })
    expect(Math.max(task.width ?? 0, task.height ?? 0)).toBe(100)
    expect(await sharp(file).metadata()).toMatchObject({ width: task.width, height: task.height })
    const { foreground } = task
    expect((foreground?.left ?? 0) + (foreground?.width ?? 0)).toBeLessThanOrEqual(task.width ?? 0)
    const large = (await cutOut(imageUrl, { maxSide: 60_000 })).task
    expect([large.width, large.height]).toEqual([original().task.width, original().task.height])
  })

  it('is scaled down to a number of pixels, or to the longer side if that is stricter', async () => {
    const { width, height } = original().task
    const half = Math.floor(((width ?? 0) * (height ?? 0)) / 4)
    const { task, file } = await cutOut(imageUrl, { maxPixels: half })
    expect(await sharp(file).metadata()).toMatchObject({ width: task.width, height: task.height })
    expect((task.width ?? 0) * (task.height ?? 0)).toBeLessThanOrEqual(half)
    expect(Math.abs((task.width ?? 0) - (width ?? 0) / 2)).toBeLessThanOrEqual(1)
    const both = (await cutOut(imageUrl, { maxPixels: half, maxSide: 50 })).task
    expect(Math.max(both.width ?? 0, both.height ?? 0)).toBe(50)
    const large = (await cutOut(imageUrl, { maxPixels: 1_000_000_000 })).task
    expect([large.width, large.height]).toEqual([width, height])
  })

  it('has nothing outside its region, and the same pixels inside', async () => {
    const { task, file } = await cutOut(imageUrl, { roi: { left: '0%', top: '0%', right: '50%', bottom: '100%' } })
    const { width, height } = original().task
    expect([task.width, task.height]).toEqual([width, height])
    const { data, info } = await rawOf(file)
    const whole = await rawOf(original().file)
    const middle = Math.round(info.width / 2)
    let [visible, outside, changed] = [0, 0, 0]
    for (let i = 0; i < data.length; i += 4) {
      const isOutside = (i / 4) % info.width >= middle
      if ((data[i + 3] ?? 0) > 0) visible++
      if (isOutside && data[i + 3] !== 0) outside++
      if (!isOutside && data[i + 3] !== whole.data[i + 3]) changed++
    }
    expect([visible > 1_000, outside, changed]).toEqual([true, 0, 0])
    expect((task.foreground?.left ?? 0) + (task.foreground?.width ?? 0)).toBeLessThanOrEqual(middle)
  })

  it('has no foreground in a region without one', async () => {
    const nowhere = { left: '90000px', top: '0px', right: '100%', bottom: '100%' }
    const { task, file } = await cutOut(imageUrl, { roi: nowhere, crop: true, scale: '50%' })
    const { width, height } = original().task
    expect(task).toMatchObject({ width, height, foreground: null })
    expect((await sharp(file).stats()).channels[3]?.max).toBe(0)
  })

  it('is scaled and placed in a canvas of the size of the photo', async () => {
    const { width, height } = original().task
    if (width === null || height === null) throw new Error('the result has no size')
    const { task, file } = await cutOut(imageUrl, { scale: '50%', position: '0% 100%', background: '#204060' })
    expect([task.width, task.height]).toEqual([width, height])
    const { foreground } = task
    if (foreground === null) throw new Error('the lemur was not found')
    expect([foreground.left, foreground.top + foreground.height]).toEqual([0, height])
    expect(Math.max(foreground.width / width, foreground.height / height)).toBeCloseTo(0.5, 2)
    const { data, info } = await rawOf(file)
    expect(info.channels).toBe(3)
    const pixelAt = (x: number, y: number) => [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)]
    expect([pixelAt(width - 1, 0), pixelAt(width - 1, height - 1)]).toEqual([
      [0x20, 0x40, 0x60],
      [0x20, 0x40, 0x60],
    ])
    const shown = await sharp(file).extract(foreground).stats()
    expect(shown.channels[0]?.stdev).toBeGreaterThan(10)
  })

  it('is moved without a change of its pixels', async () => {
    const { foreground } = original().task
    if (foreground === null) throw new Error('the lemur was not found')
    const { task, file } = await cutOut(imageUrl, { position: '100% 0%' })
    expect(task.foreground).toEqual({ ...foreground, top: 0, left: (task.width ?? 0) - foreground.width })
    const before = await sharp(original().file).extract(foreground).raw().toBuffer()
    const after = await sharp(file)
      .extract(task.foreground ?? foreground)
      .raw()
      .toBuffer()
    expect(furthest(after, before)).toBe(0)
  })

  it('fills a cropped image with margins by its scale', async () => {
    const cropped = (await cutOut(imageUrl, { crop: true, cropMargin: '10% 20%' })).task
    const { task, file } = await cutOut(imageUrl, {
      crop: true,
      cropMargin: '10% 20%',
      scale: '100%',
      channels: 'alpha',
    })
    expect([task.width, task.height]).toEqual([cropped.width, cropped.height])
    const { foreground, width, height } = task
    if (foreground === null || width === null || height === null) throw new Error('the lemur was not found')
    expect(Math.max(foreground.width / width, foreground.height / height)).toBe(1)
    expect(foreground.left + foreground.width / 2).toBeCloseTo(width / 2, -0.5)
    expect(await sharp(file).metadata()).toMatchObject({ channels: 1, width, height })
  })

  it('is only its matte', async () => {
    const { file } = await cutOut(imageUrl, { channels: 'alpha' })
    expect(await sharp(file).metadata()).toMatchObject({ channels: 1, space: 'b-w' })
    const matte = await sharp(file).toColourspace('b-w').raw().toBuffer()
    expect(furthest(matte, await sharp(original().file).extractChannel('alpha').raw().toBuffer())).toBe(0)
  })

  describe('with a shadow', () => {
    const alphaOf = async (file: Buffer) => (await sharp(file).extractChannel('alpha').raw().toBuffer()) as Uint8Array
    const kinds = ['drop', 'contact', 'cast'] as const

    it.each(kinds)('of the kind %s keeps its own pixels, and the shadow lies around them', async (kind) => {
      const { task, file } = await cutOut(imageUrl, { shadow: { kind } })
      const bare = original()
      expect([task.width, task.height, task.foreground]).toEqual([
        bare.task.width,
        bare.task.height,
        bare.task.foreground,
      ])
      const [before, after] = [await rawOf(bare.file), await rawOf(file)]
      let [shaded, changed, lighter] = [0, 0, 0]
      for (let i = 0; i < before.data.length; i += 4) {
        const [own, whole] = [before.data[i + 3] ?? 0, after.data[i + 3] ?? 0]
        if (own === 255) changed += Number(before.data.compare(after.data, i, i + 4, i, i + 4) !== 0)
        if (whole < own) lighter++
        if (own === 0 && whole > 0) {
          shaded++
          changed += Number(after.data.readUIntBE(i, 3) !== 0) // black
        }
      }
      expect([changed, lighter]).toEqual([0, 0])
      expect(shaded).toBeGreaterThan(500)
    })

    it.each(kinds)('of the kind %s grows on request until the shadow ends inside', async (kind) => {
      const { task, file } = await cutOut(imageUrl, { crop: true, shadow: { kind, grow: true } })
      const { width, height, foreground } = task
      if (width === null || height === null || foreground === null) throw new Error('the lemur was not found')
      expect(await sharp(file).metadata()).toMatchObject({ width, height })
      expect([foreground.width, foreground.height]).toEqual([
        original().task.foreground?.width,
        original().task.foreground?.height,
      ])
      expect(width * height).toBeGreaterThan(foreground.width * foreground.height)
      const alpha = await alphaOf(file)
      const rim = [...alpha].filter((_, i) => {
        const [x, y] = [i % width, Math.floor(i / width)]
        const isSubject =
          x >= foreground.left &&
          x < foreground.left + foreground.width &&
          y >= foreground.top &&
          y < foreground.top + foreground.height
        return !isSubject && (x === 0 || y === 0 || x === width - 1 || y === height - 1)
      })
      expect(rim.reduce((most, value) => Math.max(most, value), 0)).toBeLessThanOrEqual(8)
    })

    it('over a colour, as JPEG and WebP, equals the transparent result composited on it', async () => {
      const shadow = { kind: 'drop', grow: true, color: '#102040' } as const
      const transparent = (await cutOut(imageUrl, { shadow })).file
      const expected = await sharp(transparent).flatten({ background: '#ff8000' }).raw().toBuffer()
      const { file } = await cutOut(imageUrl, { shadow, background: '#ff8000' })
      expect(furthest(await sharp(file).raw().toBuffer(), expected)).toBeLessThanOrEqual(2)
      for (const format of ['jpeg', 'webp'] as const) {
        const lossy = await rawOf((await cutOut(imageUrl, { format, shadow, background: '#ff8000' })).file)
        const mean = lossy.data.reduce((sum, value, i) => sum + Math.abs(value - (expected[i] ?? 0)), 0)
        expect(mean / expected.length).toBeLessThan(6)
      }
    })

    it('is placed and scaled with its shadow, and a matte grows alike', async () => {
      const wish = { scale: '100%', shadow: { kind: 'drop', grow: true } } as const
      const { task, file } = await cutOut(imageUrl, wish)
      expect((task.width ?? 0) * (task.height ?? 0)).toBeGreaterThan(
        (original().task.width ?? 0) * (original().task.height ?? 0),
      )
      expect(await sharp(file).metadata()).toMatchObject({ width: task.width, height: task.height })
      const matte = (await cutOut(imageUrl, { ...wish, channels: 'alpha' })).task
      expect([matte.width, matte.height, matte.foreground]).toEqual([task.width, task.height, task.foreground])
    })
  })

  it('with a shadow is scaled down to its limits', async () => {
    const { task } = await cutOut(imageUrl, { maxSide: 100, shadow: { kind: 'cast', grow: true } })
    expect(Math.max(task.width ?? 0, task.height ?? 0)).toBe(100)
  })

  it('combines all options', async () => {
    const wish = { format: 'webp', background: '#ffffff80', crop: true, cropMargin: '5%', maxSide: 200 } as const
    const { task, file } = await cutOut(imageUrl, wish)
    expect(Math.max(task.width ?? 0, task.height ?? 0)).toBe(200)
    const { data, info } = await rawOf(file)
    expect([info.width, info.height, info.channels]).toEqual([task.width, task.height, 4])
    // Half of the white shows in the margin.
    expect(Math.abs((data[3] ?? 0) - 128)).toBeLessThanOrEqual(1)
  })
})

describe('an image without a foreground', () => {
  it.each([
    [{ crop: true, cropMargin: '10%' }, 4, [0, 0, 0, 0]],
    [{ crop: true, background: '#102030' }, 3, [16, 32, 48]],
    [{ crop: true, channels: 'alpha' }, 1, [0]],
    [{ crop: true, format: 'jpeg' }, 3, [255, 255, 255]],
  ] as const)('stays whole: %j', async (output, channels, pixel) => {
    const { task, file } = await cutOut(await stack.client.upload(greyPng(60, 40)), output)
    expect(task).toMatchObject({ width: 60, height: 40, foreground: null })
    const image = sharp(file)
    if (channels === 1) image.toColourspace('b-w')
    const { data, info } = await image.raw().toBuffer({ resolveWithObject: true })
    expect([info.width, info.height, info.channels]).toEqual([60, 40, channels])
    expect([...data.subarray(0, channels)]).toEqual(pixel)
  })
})

describe('an image of one pixel', () => {
  it.each(['png', 'webp', 'jpeg'] as const)('becomes a %s of one pixel', async (format) => {
    const imageUrl = await stack.client.upload(greyPng(1, 1))
    const wish = { format, crop: true, cropMargin: '50%', maxSide: 1, background: '#ffffff' }
    const { task, file } = await cutOut(imageUrl, wish)
    expect([task.width, task.height]).toEqual([1, 1])
    expect(await sharp(file).metadata()).toMatchObject({ format, width: 1, height: 1 })
  })
})

describe('a shadow that needs more pixels than the plan allows', () => {
  const plan = JSON.stringify({ internal: { maxPixels: 680 * 440 } })
  const small = useStack({ processes: ['api', 'worker'], env: { api: { PLANS: plan }, worker: { PLANS: plan } } })

  it('fails as too large if the image grows for it, and else is cut', async () => {
    const imageUrl = await small.client.upload(lemur())
    const create = async (shadow: Partial<Shadow>) =>
      (await small.client.createTask({ imageUrl, output: { shadow: { kind: 'cast', angle: 90, ...shadow } } })).id
    const failed = await untilStatus(small.client, await create({ grow: true }), 'failed')
    expect(failed.failure?.reason ?? JSON.stringify(failed)).toContain('INPUT_TOO_LARGE')
    await untilStatus(small.client, await create({}), 'succeeded')
  })
})

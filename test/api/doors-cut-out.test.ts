import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { unzipSync } from 'fflate'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fetcher, startFetcher } from '../dispatcher/fetcher.ts'
import { type Receiver, startReceiver } from '../dispatcher/receiver.ts'
import { lemur, truncatedPng } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { codeOf, formOf } from './doors.ts'

const stack = useStack({ processes: ['worker'] })
let apiKey = ''
let receiver: Receiver
let fetcher: Fetcher

beforeAll(async () => {
  receiver = await startReceiver((response, { path }) =>
    path === '/lemur.png' ? response.end(lemur()) : response.end('no image'),
  )
  fetcher = await startFetcher(stack.db, receiver)
  const key = generateApiKey()
  const { workspaceId } = stack
  await insertApiKey(stack.db, key, { workspaceId, name: 'door', scopes: ['tasks:write'], expiresAt: null })
  apiKey = key.key
  const rembg = { DOORS_REMBG: 'true', DOORS_REMBG_NETWORKS: '127.0.0.0/8', DOORS_REMBG_WORKSPACE: workspaceId }
  await stack.start('api', { DOORS_REMOVEBG: 'true', UPLOADS_FETCH_URLS: 'true', ...rembg })
})
afterAll(async () => {
  await fetcher.stop()
  await receiver.close()
})

const post = (path: string, body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) =>
  fetch(`${stack.process('api').url}${path}`, { method: 'POST', body, headers })

const removebg = (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) =>
  post('/v1.0/removebg', body, { 'x-api-key': apiKey, ...headers })

const upload = (fields: Record<string, string> = {}) => formOf(fields, { name: 'image_file', bytes: lemur() })

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

const sizeOf = async (bytes: Buffer) => {
  const { format, width, height, channels } = await sharp(bytes).metadata()
  return { format, width, height, channels }
}

describe('the door for remove.bg', () => {
  it('answers the cut-out with its size and box in headers', async () => {
    const response = await removebg(upload({ size: 'full' }))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
    const bytes = await bytesOf(response)
    const { width, height } = await sharp(lemur()).metadata()
    expect(await sizeOf(bytes)).toEqual({ format: 'png', width, height, channels: 4 })
    const header = (name: string): number => Number(response.headers.get(name))
    expect([header('x-width'), header('x-height'), header('content-length')]).toEqual([width, height, bytes.length])
    expect(response.headers.get('x-type')).toBe('other')
    expect(response.headers.get('x-credits-charged')).toBe('0') // the plan is not charged
    expect(header('x-foreground-width')).toBeGreaterThan(0)
    expect(header('x-foreground-left') + header('x-foreground-width')).toBeLessThanOrEqual(width)
    expect(header('x-foreground-top') + header('x-foreground-height')).toBeLessThanOrEqual(height)
    expect(header('x-ratelimit-limit')).toBeGreaterThan(0)
  })

  it('answers the same image as JSON, for each form of body', async () => {
    const binary = await bytesOf(await removebg(upload({ size: 'full' })))
    const b64 = { image_file_b64: lemur().toString('base64'), size: 'full' }
    const accept = { accept: 'application/json' }
    const answers = [
      await removebg(upload({ size: 'full' }), accept),
      await removebg(new URLSearchParams(b64), accept),
      await removebg(JSON.stringify(b64), { ...accept, 'content-type': 'application/json' }),
    ]
    for (const response of answers) {
      expect(response.headers.get('content-type')).toContain('application/json')
      const text = await response.text()
      expect(Number(response.headers.get('content-length'))).toBe(text.length)
      const { data } = JSON.parse(text)
      expect(Buffer.from(data.result_b64, 'base64').equals(binary)).toBe(true)
      expect(data.foreground_width).toBe(Number(response.headers.get('x-foreground-width')))
    }
  })

  it.each([
    [{ bg_color: 'red' }, 'jpeg', 3],
    [{ bg_color: '81d4fa80' }, 'png', 4],
    [{ format: 'jpg' }, 'jpeg', 3],
    [{ format: 'webp' }, 'webp', 4],
    [{ channels: 'alpha' }, 'png', 1],
  ])('with %j answers %s', async (fields, format, channels) => {
    const response = await removebg(upload({ size: 'full', ...(fields as Record<string, string>) }))
    expect(await sizeOf(await bytesOf(response))).toMatchObject({ format, channels })
    expect(response.headers.get('content-type')).toBe(`image/${format}`)
  })

  const byUrl = { image_url: 'http://images.example/lemur.png' }

  it('takes the image by URL, for each form of body', async () => {
    const file = await bytesOf(await removebg(upload({ size: 'full' })))
    const asked = { ...byUrl, size: 'full' }
    for (const response of [
      await removebg(formOf(asked)),
      await removebg(new URLSearchParams(asked)),
      await removebg(JSON.stringify(asked), { 'content-type': 'application/json' }),
    ]) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
      expect((await bytesOf(response)).equals(file)).toBe(true)
    }
  })

  it.each([
    [{ image_url: 'http://127.0.0.1/lemur.png' }, 'invalid_parameters'],
    [{ image_url: 'http://inside.example/lemur.png' }, 'invalid_parameters'],
    [{ image_url: 'http://images.example/page' }, 'invalid_file_type'],
    [{ ...byUrl, bg_image_url: 'http://images.example/page' }, 'invalid_file_type'],
  ])('answers 400 for %j', async (fields, code) => {
    const response = await removebg(formOf(fields as Record<string, string>))
    expect([response.status, await codeOf(response)]).toEqual([400, code])
  })

  const blue = () => sharp({ create: { width: 300, height: 200, channels: 3, background: '#0000ff' } })

  it('puts the cut-out over a background image, by file and by URL', async () => {
    const form = upload({ size: 'full' })
    form.set('bg_image_file', new Blob([Buffer.from(await blue().png().toBuffer())]), 'blue.png')
    const response = await removebg(form)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    const { width, height } = await sharp(lemur()).metadata()
    const composed = await bytesOf(response)
    expect(await sizeOf(composed)).toEqual({ format: 'jpeg', width, height, channels: 3 })
    const left = Number(response.headers.get('x-foreground-left'))
    const top = Number(response.headers.get('x-foreground-top'))
    expect(left + top).toBeGreaterThan(0) // the corner outside the box is background
    const corner = left > 0 ? { left: 0, top: Math.floor(height / 2) } : { left: Math.floor(width / 2), top: 0 }
    const { dominant } = await sharp(
      await sharp(composed)
        .extract({ ...corner, width: 1, height: 1 })
        .png()
        .toBuffer(),
    ).stats()
    expect(dominant.b - dominant.r).toBeGreaterThan(150)
    const png = await removebg(upload({ size: 'full', format: 'png', bg_image_url: byUrl.image_url }))
    expect(await sizeOf(await bytesOf(png))).toMatchObject({ format: 'png', width, height, channels: 3 })
    // The task shows only members of the interface, and no upload remains.
    const { items: [task] = [] } = await stack.client.listTasks()
    expect(JSON.stringify(task)).not.toMatch(/"door"|background/)
    expect(
      await stack.db
        .selectFrom('upload')
        .select('id')
        .where('used_at', 'is', null)
        .where('deleted_at', 'is', null)
        .execute(),
    ).toEqual([])
  })

  it('answers 400 for a background that cannot be decoded', async () => {
    const form = upload()
    form.set('bg_image_file', new Blob([Buffer.from(truncatedPng())]), 'b.png')
    const response = await removebg(form)
    expect([response.status, await codeOf(response)]).toEqual([400, 'failed_to_read_image'])
  })

  it('answers a zip of colours and matte, which make the cut-out', async () => {
    const cutOut = await bytesOf(await removebg(upload({ size: 'full' })))
    const response = await removebg(upload({ size: 'full', format: 'zip' }))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip'])
    const bytes = await bytesOf(response)
    expect(Number(response.headers.get('content-length'))).toBe(bytes.length)
    const { width, height } = await sharp(lemur()).metadata()
    expect(response.headers.get('x-width')).toBe(String(width))
    const { 'color.jpg': colour, 'alpha.png': alpha, ...others } = unzipSync(bytes)
    expect(others).toEqual({})
    expect(await sizeOf(Buffer.from(colour ?? ''))).toEqual({ format: 'jpeg', width, height, channels: 3 })
    expect(await sizeOf(Buffer.from(alpha ?? ''))).toEqual({ format: 'png', width, height, channels: 1 })
    const matte = await sharp(alpha).toColourspace('b-w').raw().toBuffer()
    const wanted = await sharp(cutOut).extractChannel('alpha').raw().toBuffer()
    expect(matte.equals(wanted)).toBe(true)
    // The result of the task is the cut-out; the zip is deleted with it.
    const { items: [task] = [] } = await stack.client.listTasks()
    const keys = await stack.bucket.keys('results/')
    expect(keys.filter((key) => key.includes(task?.id ?? '')).map((key) => key.split('.').at(-1))).toEqual([
      'png',
      'zip',
    ])
  })

  it('shrinks to 0.25 megapixels by default', async () => {
    const response = await removebg(upload())
    const { width = 0, height = 0 } = await sizeOf(await bytesOf(response))
    expect(width * height).toBeLessThanOrEqual(250_000)
    expect(width * height).toBeGreaterThan(240_000)
  })

  it('crops to the subject with four margins, and moves and scales it', async () => {
    const whole = await removebg(upload({ size: 'full' }))
    const box = (response: Response, side: string) => Number(response.headers.get(`x-foreground-${side}`))
    await whole.arrayBuffer()
    const cropped = await removebg(upload({ size: 'full', crop: 'true', crop_margin: '0px' }))
    await cropped.arrayBuffer()
    expect(Number(cropped.headers.get('x-width'))).toBe(box(whole, 'width'))
    const scaled = await removebg(upload({ size: 'full', scale: '50%', position: '0% 0%' }))
    await scaled.arrayBuffer()
    expect(scaled.headers.get('x-width')).toBe(whole.headers.get('x-width'))
    expect(box(scaled, 'left')).toBeLessThanOrEqual(2)
    expect(box(scaled, 'width')).toBeLessThan(box(whole, 'width'))
  })

  it('adds each shadow of remove.bg, as dark as `shadow_opacity`, and over a background', async () => {
    const visible = async (fields: Record<string, string>): Promise<number> => {
      const response = await removebg(upload({ size: 'full', ...fields }))
      expect(response.status).toBe(200)
      const { data } = await sharp(await bytesOf(response))
        .extractChannel('alpha')
        .raw()
        .toBuffer({ resolveWithObject: true })
      return data.reduce((sum, alpha) => sum + alpha, 0)
    }
    const bare = await visible({ shadow_type: 'none', add_shadow: 'true' })
    for (const shadow of [
      { add_shadow: 'true' },
      ...['auto', 'car', 'drop', '3D'].map((shadow_type) => ({ shadow_type })),
    ] as Record<string, string>[]) {
      const light = await visible({ ...shadow, shadow_opacity: '20' })
      expect(light).toBeGreaterThan(bare)
      expect(await visible({ ...shadow, shadow_opacity: '90' })).toBeGreaterThan(light)
    }
    const white = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#ffffff' } })
      .png()
      .toBuffer()
    const over = async (fields: Record<string, string>) => {
      const files = formOf({ size: 'full', format: 'png', ...fields }, { name: 'image_file', bytes: lemur() })
      files.append('bg_image_file', new Blob([new Uint8Array(white)]), 'white.png')
      return (await sharp(await bytesOf(await removebg(files))).stats()).channels[0]?.mean ?? 0
    }
    expect(await over({ shadow_type: 'drop' })).toBeLessThan(await over({}))
  })

  it('grows a crop for the shadow, and puts both into the parts of a zip', async () => {
    const size = async (fields: Record<string, string>) => {
      const response = await removebg(upload({ size: 'full', ...fields }))
      await response.arrayBuffer()
      return Number(response.headers.get('x-width')) * Number(response.headers.get('x-height'))
    }
    expect(await size({ crop: 'true', shadow_type: 'drop' })).toBeGreaterThan(await size({ crop: 'true' }))
    expect(await size({ shadow_type: 'drop' })).toBe(await size({}))
    const alphaOf = async (fields: Record<string, string>) => {
      const zip = await bytesOf(await removebg(upload({ size: 'full', format: 'zip', ...fields })))
      return (await sharp(unzipSync(new Uint8Array(zip))['alpha.png']).stats()).channels[0]?.mean ?? 0
    }
    expect(await alphaOf({ shadow_type: 'drop' })).toBeGreaterThan(await alphaOf({}))
  })

  it('finds no subject outside the region', async () => {
    const response = await removebg(upload({ size: 'full', roi: '0px 0px 1px 1px' }))
    expect([response.status, response.headers.get('x-foreground-width')]).toEqual([200, '0'])
    await response.arrayBuffer()
  })

  it('answers 400 for an image that cannot be decoded', async () => {
    const response = await removebg(formOf({}, { name: 'image_file', bytes: truncatedPng() }))
    expect([response.status, await codeOf(response)]).toEqual([400, 'failed_to_read_image'])
  })
})

describe('the door for rembg', () => {
  const remove = (fields: Record<string, string> = {}, query = '') =>
    post(`/api/remove${query}`, formOf(fields, { name: 'file', bytes: lemur() }))

  it('answers a PNG of the size of the image, whatever known model is named', async () => {
    const { width, height } = await sharp(lemur()).metadata()
    for (const model of ['', 'bria-rmbg', 'u2net']) {
      const response = await remove({ model, a: 'true', af: '200' })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
      expect(await sizeOf(await bytesOf(response))).toEqual({ format: 'png', width, height, channels: 4 })
    }
  })

  it('answers the mask alone, and a background colour', async () => {
    const mask = await bytesOf(await remove({ om: 'true' }))
    expect(await sizeOf(mask)).toMatchObject({ format: 'png', channels: 1 })
    const opaque = await bytesOf(await remove({}, '?bgc=255,0,0,255'))
    expect((await sharp(opaque).stats()).isOpaque).toBe(true)
  })

  it('takes the image by URL', async () => {
    const { width, height } = await sharp(lemur()).metadata()
    const url = encodeURIComponent('http://images.example/lemur.png')
    const response = await fetch(`${stack.process('api').url}/api/remove?url=${url}&om=true`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(await sizeOf(await bytesOf(response))).toEqual({ format: 'png', width, height, channels: 1 })
    const refused = await fetch(`${stack.process('api').url}/api/remove?url=http://10.0.0.1/`)
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { detail: expect.stringContaining('public internet') },
    ])
  })

  it('answers 400 for an image that cannot be decoded', async () => {
    const response = await post('/api/remove', formOf({}, { name: 'file', bytes: truncatedPng() }))
    expect([response.status, await response.json()]).toEqual([400, { detail: expect.stringContaining('decoded') }])
  })
})

import { readBalance } from '@matte/core/credit/balance'
import { findViolations } from '@matte/core/sample/invariants'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { unzipSync } from 'fflate'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fetcher, startFetcher } from '../dispatcher/fetcher.ts'
import { type Receiver, startReceiver } from '../dispatcher/receiver.ts'
import { type Empty, listEmpties } from '../quality/presence/empties.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { createClient } from '../support/client.ts'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { givenWorkspace } from '../support/factories.ts'
import { lemur, truncatedPng } from '../support/photos.ts'
import { useStack } from '../support/stack.ts'
import { cutOut } from '../support/tasks.ts'
import { codeOf, formOf } from './doors.ts'
import { givenCaller } from './given.ts'

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

/** A workspace whose plan is charged, with 100 credits. */
async function givenPro() {
  const { id: workspaceId } = await givenWorkspace(stack.db, { plan: 'pro', credits: 100 })
  const key = generateApiKey()
  await insertApiKey(stack.db, key, { workspaceId, name: 'pro', scopes, expiresAt: null })
  const client = createClient(stack.process('api').url, key.key)
  return { workspaceId, client, headers: { 'x-api-key': key.key } }
}

/** Squares of colours in which the network sees a subject. */
const noise = listEmpties('tune').find(({ name }) => name === 'tune-empty-noise-1') as Empty

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

/** The alpha channel, or the grey of a matte. */
async function alphaOf(bytes: Buffer): Promise<Buffer> {
  const image = sharp(bytes)
  const { channels } = await image.metadata()
  return (channels === 1 ? image : image.extractChannel(3)).toColourspace('b-w').raw().toBuffer()
}

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

  it('answers fourteen requests at once on the plan Pro with pictures, two at a time', async () => {
    const { url } = stack.process('api')
    const caller = await givenCaller(
      stack.db,
      { client: (key) => createClient(url, key) },
      { plan: 'pro', credits: 20 },
    )
    const preview = () => removebg(upload(), { 'x-api-key': caller.apiKey })
    const responses = await Promise.all(Array.from({ length: 14 }, preview))
    for (const response of responses) {
      expect([response.status, response.headers.get('x-credits-charged')]).toEqual([200, '1'])
      expect(await sizeOf(await bytesOf(response))).toMatchObject({ format: 'png', channels: 4 })
    }
    expect(await readBalance(stack.db, caller.workspaceId)).toMatchObject({ available: 6, held: 0 })
  })

  it('charges one credit for a preview, and the account shows one less', async () => {
    const { url } = stack.process('api')
    const caller = await givenCaller(stack.db, { client: (key) => createClient(url, key) }, { credits: 3 })
    const account = async () => {
      const response = await fetch(`${url}/v1.0/account`, { headers: { 'x-api-key': caller.apiKey } })
      const { data } = (await response.json()) as { data: { attributes: { credits: Record<string, number> } } }
      const { total = 0, ...parts } = data.attributes.credits
      expect(Object.values(parts).reduce((sum, each) => sum + each, 0)).toBe(total)
      return total
    }
    const before = await account()
    const response = await removebg(upload({ size: 'preview' }), { 'x-api-key': caller.apiKey })
    await response.arrayBuffer()
    expect(response.headers.get('x-credits-charged')).toBe('1')
    expect(await account()).toBe(before - 1)
  })

  it('names no type that it has not found, and none at all for the level none', async () => {
    for (const [fields, type] of [
      [{ type: 'car' }, 'other'],
      [{ type: 'person', type_level: '2' }, 'other'],
      [{ type_level: 'none' }, null],
    ] as const) {
      const response = await removebg(upload(fields))
      await response.arrayBuffer()
      expect([response.status, response.headers.get('x-type')]).toEqual([200, type])
    }
  })

  it.each([
    { size: 'full' },
    { size: 'preview' },
    { size: 'preview', crop: 'true', scale: '50%' },
    { size: 'preview', channels: 'alpha' },
    { size: 'full', format: 'zip' },
    { size: 'preview', format: 'webp' },
  ])('makes alpha hard without semitransparency, for %j', async (fields) => {
    const levels = async (semitransparency: string) => {
      const response = await removebg(upload({ ...(fields as Record<string, string>), semitransparency }))
      expect(response.status).toBe(200)
      const bytes = await bytesOf(response)
      return new Set(await alphaOf(fields.format === 'zip' ? Buffer.from(unzipSync(bytes)['alpha.png'] ?? '') : bytes))
    }
    expect([...(await levels('false'))].sort()).toEqual([0, 255])
    expect((await levels('true')).size).toBeGreaterThan(2)
  })

  it('keeps the colour of a semitransparent background over hard alpha', async () => {
    const response = await removebg(upload({ size: 'preview', bg_color: '81d4fa40', semitransparency: 'false' }))
    expect((await alphaOf(await bytesOf(response)))[0]).toBe(0x40)
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
    [{ format: 'jpeg' }, 'jpeg', 3],
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

  it('keeps the colours of the photo in a zip where the matte is black', async () => {
    for (const [fields, wanted] of [
      [{ size: 'full' }, sharp(lemur())],
      [{ size: 'preview' }, undefined],
    ] as const) {
      const { 'color.jpg': colour, 'alpha.png': alpha } = unzipSync(
        await bytesOf(await removebg(upload({ ...fields, format: 'zip' }))),
      )
      const found = sharp(colour ?? Buffer.alloc(0))
      const { width = 0, height = 0 } = await found.metadata()
      const photo = (wanted ?? sharp(lemur()).resize(width, height, { fit: 'fill' })).removeAlpha()
      const [a, b] = [await found.raw().toBuffer(), await photo.raw().toBuffer()]
      const matte = await alphaOf(Buffer.from(alpha ?? ''))
      let [differences, count] = [0, 0]
      for (const [pixel, level] of matte.entries()) {
        if (level > 0) continue
        count += 1
        differences += Math.abs((a[pixel * 3] ?? 0) - (b[pixel * 3] ?? 0))
      }
      expect([width > 0 && height > 0, count > 0]).toEqual([true, true])
      expect(differences / count).toBeLessThan(12) // a JPEG; black would differ by the photo's own brightness
    }
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

  describe('for an image without a subject', () => {
    const blank = () =>
      sharp({ create: { width: 300, height: 200, channels: 3, background: '#fff' } })
        .png()
        .toBuffer()
    const blankForm = async (fields: Record<string, string> = {}) =>
      formOf(fields, { name: 'image_file', bytes: await blank() })
    const balanceOf = async (workspaceId: string) => {
      const { available, held, spent } = await stack.db
        .selectFrom('credit_lot')
        .select(['available', 'held', 'spent'])
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirstOrThrow()
      return { available, held, spent }
    }
    const lastTask = (workspaceId: string) =>
      stack.db
        .selectFrom('task')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .orderBy('created_at', 'desc')
        .executeTakeFirstOrThrow()
    const outcomes = () =>
      Promise.all(
        ['charged', 'released'].map((outcome) =>
          exposedAt(stack.process('worker').healthUrl, 'matte_credits_settled_total', { plan: 'pro', outcome }),
        ),
      )

    it.each([
      ['as an image', {}],
      ['as a zip', { format: 'zip' }],
      ['as a JPEG', { bg_color: 'red' }],
    ])('answers 400 unknown_foreground, and charges nothing: %s', async (_, fields) => {
      const { workspaceId, headers } = await givenPro()
      const [charged, released] = (await outcomes()) as [number, number]
      const response = await removebg(await blankForm(fields as Record<string, string>), headers)
      expect([response.status, await codeOf(response)]).toEqual([400, 'unknown_foreground'])
      expect(await balanceOf(workspaceId)).toEqual({ available: 100, held: 0, spent: 0 })
      expect(await findBrokenCreditRules(stack.db, workspaceId)).toEqual([])
      expect(await findViolations(stack.db, 'ended_unsettled')).toEqual([])
      expect(await outcomes()).toEqual([charged, released + 1])
      // The task succeeds, as in the Developer API, so it cannot be retried, and its history says that it was free.
      const task = await lastTask(workspaceId)
      expect(task).toMatchObject({ status: 'succeeded', foreground: null, confidence: 0, charge: 'none' })
      const [event] = await stack.db
        .selectFrom('task_event')
        .select('payload')
        .where('task_id', '=', task.id)
        .where('type', '=', 'succeeded')
        .execute()
      expect(event?.payload).toMatchObject({ confidence: 0, charged: false })
      const usage = await stack.db
        .selectFrom('usage_day')
        .select(['succeeded', 'credits'])
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst()
      expect(usage).toEqual({ succeeded: 1, credits: 0 })
    })

    it('answers the same for a subject outside the region', async () => {
      const { workspaceId, headers } = await givenPro()
      const response = await removebg(upload({ roi: '0px 0px 1px 1px' }), headers)
      expect([response.status, await codeOf(response)]).toEqual([400, 'unknown_foreground'])
      expect(await balanceOf(workspaceId)).toMatchObject({ available: 100 })
    })

    it('answers the same for a subject that the network is not sure of', async () => {
      const { workspaceId, headers } = await givenPro()
      const bytes = await noise.draw()
      const response = await removebg(formOf({}, { name: 'image_file', bytes }), headers)
      expect([response.status, await codeOf(response)]).toEqual([400, 'unknown_foreground'])
      expect(await balanceOf(workspaceId)).toEqual({ available: 100, held: 0, spent: 0 })
      const task = await lastTask(workspaceId)
      expect(task).toMatchObject({ status: 'succeeded', foreground: expect.anything(), charge: 'none' })
      expect(task.confidence).toBeLessThan(0.1)
    })

    it.each([
      ['as an image', {}],
      ['as a zip', { format: 'zip' }],
    ])('keeps no result of what it has not charged, for any API: %s', async (_, fields) => {
      const { workspaceId, client, headers } = await givenPro()
      const bytes = await noise.draw()
      await removebg(formOf(fields as Record<string, string>, { name: 'image_file', bytes }), headers)
      const { id } = await lastTask(workspaceId)
      const read = await client.getTask(id)
      expect(read).toMatchObject({ status: 'succeeded', foreground: expect.anything(), resultUrl: null })
      expect((await client.listTasks()).items).toEqual([read])
      expect((await stack.bucket.keys()).filter((key) => key.includes(id))).toEqual([])
      // Retrying would be a second chance without a price.
      await expect(client.call('POST', `/tasks/${id}/retry`)).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    })

    it('charges an image with a subject', async () => {
      const { workspaceId, headers } = await givenPro()
      const response = await removebg(upload(), headers)
      expect([response.status, response.headers.get('x-credits-charged')]).toEqual([200, '1'])
      await response.arrayBuffer()
      expect(await balanceOf(workspaceId)).toEqual({ available: 99, held: 0, spent: 1 })
      expect(await lastTask(workspaceId)).toMatchObject({ charge: 'if_subject' })
    })

    it('charges the Developer API, where it succeeds', async () => {
      const { workspaceId, client } = await givenPro()
      expect(await cutOut(client, { bytes: await blank() })).toMatchObject({ status: 'succeeded', confidence: 0 })
      expect(await balanceOf(workspaceId)).toEqual({ available: 99, held: 0, spent: 1 })
    })

    it('answers a charged empty result if the setting is off', async () => {
      const { workspaceId, headers } = await givenPro()
      const api = await stack.start('api', { DOORS_REMOVEBG_UNKNOWN_FOREGROUND: 'false' })
      const body = await blankForm()
      const response = await fetch(`${api.url}/v1.0/removebg`, { method: 'POST', body, headers })
      expect([response.status, response.headers.get('x-foreground-width')]).toEqual([200, '0'])
      await response.arrayBuffer()
      expect(await balanceOf(workspaceId)).toEqual({ available: 99, held: 0, spent: 1 })
      expect(await findViolations(stack.db, 'ended_unsettled')).toEqual([])
      await api.stop()
    })
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
    // As rembg does, with an alpha channel that is opaque.
    for (const bgc of ['255,0,0,255', '255,0,0']) {
      const opaque = await bytesOf(await remove({}, `?bgc=${bgc}`))
      expect(await sizeOf(opaque)).toMatchObject({ format: 'png', channels: 4 })
      expect((await sharp(opaque).stats()).isOpaque).toBe(true)
    }
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

// The main scenario by documented calls only: presign, PUT, create, webhook, result.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { attemptStages } from '@matte/core/task/attempt-work'
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exposedAt } from '../support/app/exposed.ts'
import type { Task } from '../support/client.ts'
import { type Matte, mae, softIou } from '../support/matte-metrics.ts'
import { lemur, photo } from '../support/photos.ts'
import { type Receiver, startReceiver, type Webhook } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, download } from '../support/tasks.ts'
import { until } from '../support/until.ts'

/** Lower alpha is invisible and does not count as foreground. */
const leastVisible = 8

describe('a photo', () => {
  const stack = useStack()
  let receiver: Receiver
  let task: Task
  let webhook: Webhook

  beforeAll(async () => {
    receiver = await startReceiver()
    task = await cutOut(stack.client, { bytes: lemur(), callbackUrl: receiver.url })
    ;[webhook] = (await receiver.until(1)) as [Webhook]
  })
  afterAll(() => receiver.close())

  it('becomes a succeeded task with all promised fields', async () => {
    expect(task).toMatchObject({
      status: 'succeeded',
      modelVersion: 'service-v2',
      sourceUrl: expect.stringMatching(/^private-uploads\/\d{4}\/\d\d\/.+\.png$/),
      failure: null,
      retryCount: 0,
      width: 680,
      height: 440,
      resultFormat: 'png',
    })
    expect(task.creditCost).toBeUndefined()
    expect(task.durationMs).toBeGreaterThan(0)
    expect(Date.parse(task.completedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(task.createdAt))
  })

  it('has its model and the milliseconds of each stage in the history', async () => {
    const { rows } = await sql<{ payload: Record<string, unknown> }>`
      select payload from task_event where task_id = ${task.id} and type = 'succeeded'`.execute(stack.db)
    const [{ payload } = { payload: {} }] = rows
    const stages = payload.stages_ms as Record<string, number>
    expect(payload).toMatchObject({ run: 1, attempt: 1, model: 'u2netp' })
    expect(Object.keys(stages).sort()).toEqual([...attemptStages].sort())
    expect(stages.infer).toBeGreaterThan(0)
    const total = Object.values(stages).reduce((sum, ms) => sum + ms, 0)
    expect(total).toBeLessThanOrEqual((task.durationMs ?? 0) + attemptStages.length)
    // Members see pods; webhooks and keys do not.
    expect(`${webhook.bytes}${JSON.stringify(task)}`).not.toMatch(/stages_ms|u2netp/)
  })

  it('has its confidence in the task, in the history and in the metric of its model', async () => {
    expect(task.confidence).toBeGreaterThanOrEqual(0.5)
    expect(task.confidence).toBeLessThanOrEqual(1)
    const { rows } = await sql<{ confidence: number }>`
      select (payload->>'confidence')::float8 as confidence from task_event
       where task_id = ${task.id} and type = 'succeeded'`.execute(stack.db)
    expect(rows).toEqual([{ confidence: task.confidence }])
    const { healthUrl } = stack.process('worker')
    const labels = { model_version: 'service-v2' }
    expect(await exposedAt(healthUrl, 'matte_task_confidence_ratio_count', labels)).toBeGreaterThan(0)
    expect(await exposedAt(healthUrl, 'matte_task_confidence_ratio_bucket', { ...labels, le: '1' })).toBeGreaterThan(0)
  })

  it('is returned as a PNG of the same size whose alpha is close to the true matte', async () => {
    const response = await fetch(task.resultUrl ?? '')
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('content-disposition')).toMatch(/^attachment/)
    const matte = await alphaOf(Buffer.from(await response.arrayBuffer()))
    expect(matte).toMatchObject({ width: 680, height: 440 })
    const truth = await greyOf(photo('lemur-alpha.png'))
    expect(softIou(matte, truth)).toBeGreaterThanOrEqual(0.97)
    expect(mae(matte, truth)).toBeLessThanOrEqual(0.0105)
  })

  it('shows nothing outside its foreground box, and hides no colours', async () => {
    const { data, info } = await sharp(await download(task.resultUrl))
      .raw()
      .toBuffer({ resolveWithObject: true })
    const { top = -1, left = -1, width = 0, height = 0 } = task.foreground ?? {}
    const hidden: number[] = []
    const outside: number[] = []
    for (let at = 0; at < data.length; at += 4) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4)
      const [x, y] = [(at / 4) % info.width, Math.floor(at / 4 / info.width)]
      const isInside = x >= left && y >= top && x < left + width && y < top + height
      if (alpha === 0 && red + green + blue > 0) hidden.push(at / 4)
      if (alpha >= leastVisible && !isInside) outside.push(at / 4)
    }
    expect({ hidden, outside }).toEqual({ hidden: [], outside: [] })
  })

  it('keeps dark parts of its subject: both eyes of the cat', async () => {
    const { resultUrl } = await cutOut(stack.client, { bytes: photo('chelsea.png') })
    const { alpha, width } = await alphaOf(await download(resultUrl))
    for (const [left, top] of [
      [170, 105],
      [308, 124],
    ] as const) {
      const rows = Array.from({ length: 20 }, (_none, y) => alpha.subarray((top + y) * width + left).subarray(0, 20))
      expect(Math.min(...rows.flatMap((row) => [...row]))).toBeGreaterThan(240)
    }
  })

  it('sends a webhook that the signing secret verifies', async () => {
    const secret = await stack.client.signingSecret()
    expect(webhook.headers['content-type']).toMatch(/^application\/json/)
    expect(JSON.parse(webhook.bytes.toString())).toEqual({
      event: 'task.succeeded',
      task_id: task.id,
      message: expect.any(String),
    })
    expect(isSignedBy(secret, webhook)).toBe(true)
    expect(isSignedBy(`${secret}x`, webhook)).toBe(false)
    expect(isSignedBy(secret, { ...webhook, bytes: Buffer.concat([webhook.bytes, Buffer.from(' ')]) })).toBe(false)
  })

  it('sends the webhook again, newly signed, after the receiver failed', async () => {
    receiver.answerWith(500)
    const { id } = await cutOut(stack.client, { callbackUrl: receiver.url })
    const [first, second] = await until('it arrives a second time', () => {
      const own = receiver.received.filter(({ bytes }) => JSON.parse(bytes.toString()).task_id === id)
      return own.length === 2 && own
    })
    const secret = await stack.client.signingSecret()
    expect(second?.bytes).toEqual(first?.bytes)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    for (const each of [first, second]) expect(each && isSignedBy(secret, each)).toBe(true)
  })

  it.each([
    ['a JPEG', async () => sharp(lemur()).jpeg().toBuffer(), 680, 440],
    ['a WebP', async () => sharp(lemur()).webp().toBuffer(), 680, 440],
    ['a photo turned by its EXIF orientation', async () => turned(6), 440, 680],
    ['one pixel', async () => onePixel(), 1, 1],
  ])('of any format is cut out at its own size: %s', async (_, make, width, height) => {
    const result = await cutOut(stack.client, { bytes: await make() })
    expect(result).toMatchObject({ width, height })
    expect(await sharp(await download(result.resultUrl)).metadata()).toMatchObject({ format: 'png', width, height })
  })

  it('without a foreground succeeds with a transparent result', async () => {
    const blank = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#fff' } })
      .png()
      .toBuffer()
    const result = await cutOut(stack.client, { bytes: blank })
    expect(result).toMatchObject({ foreground: null, confidence: 0 })
    const { alpha } = await alphaOf(await download(result.resultUrl))
    expect(alpha.every((value) => value === 0)).toBe(true)
  })
})

/** Verifies the signature as a receiver would. */
function isSignedBy(secret: string, { headers, bytes }: Webhook): boolean {
  const [, timestamp, signature] = /^t=(\d+),v1=([0-9a-f]+)$/.exec(String(headers['x-service-signature'])) ?? []
  if (timestamp === undefined || signature === undefined) return false
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest()
  const given = Buffer.from(signature, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function alphaOf(png: Buffer): Promise<Matte> {
  const { data, info } = await sharp(png).extractChannel('alpha').raw().toBuffer({ resolveWithObject: true })
  return { alpha: data, width: info.width, height: info.height }
}

async function greyOf(png: Buffer): Promise<Matte> {
  const { data, info } = await sharp(png).extractChannel(0).raw().toBuffer({ resolveWithObject: true })
  return { alpha: data, width: info.width, height: info.height }
}

const turned = (orientation: number): Promise<Buffer> => sharp(lemur()).jpeg().withMetadata({ orientation }).toBuffer()

const onePixel = (): Promise<Buffer> =>
  sharp({ create: { width: 1, height: 1, channels: 3, background: '#804020' } })
    .png()
    .toBuffer()

// Invalid, deceptive and hostile images: each is rejected at creation or after decoding, and the process stays within
// its memory.
import { writeSetting } from '@matte/core/setting/setting-queries'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { put } from '../support/client.ts'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { hugePng, jpegWithLateSize, lemur, mislabelledPng, photo, truncatedPng } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const png = { contentType: 'image/png' }

describe('an image', () => {
  // Room for one large image, so several wait for each other.
  const stack = useStack({ env: { worker: { IMAGE_MEMORY_BYTES: '600000000', SLOTS_AHEAD: '8' } } })
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  it.each([
    ['empty', Buffer.alloc(0), 'TASK_FORMAT_NOT_SUPPORTED', {}],
    ['text named .png', mislabelledPng, 'TASK_FORMAT_NOT_SUPPORTED', {}],
    ['an SVG named .png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'TASK_FORMAT_NOT_SUPPORTED', {}],
    ['30,000 pixels square', hugePng(), 'TASK_FILE_SIZE_EXCEEDED', { limit: 'pixels' }],
  ])('that is %s is refused at creation', async (_, bytes, code, details) => {
    // A hostile caller omits the size at presign.
    const grant = await stack.client.presign({ fileName: 'photo.png', contentType: 'image/png' })
    await put(grant, bytes)
    await expect(stack.client.createTask({ imageUrl: grant.objectKey })).rejects.toMatchObject({
      status: 400,
      code,
      details,
    })
  })

  it('that is larger than the plan allows is refused when it is sent', async () => {
    const grant = await stack.client.presign({ fileName: 'photo.png', contentType: 'image/png' })
    await expect(put(grant, Buffer.concat([lemur(), Buffer.alloc(20 * 1_048_576)]))).rejects.toThrow('413')
    await expect(stack.client.createTask({ imageUrl: grant.objectKey })).rejects.toMatchObject({ status: 403 })
  })

  it.each([
    ['truncated', async () => truncatedPng(), 'INPUT_UNREADABLE'],
    [
      'noise after the first bytes of a PNG',
      async () => Buffer.concat([lemur().subarray(0, 64), mislabelledPng]),
      'INPUT_UNREADABLE',
    ],
    ['a truncated JPEG', async () => photo('rocket.jpg').subarray(0, 40_000), 'INPUT_UNREADABLE'],
    ['too large by a header near its end', tooLargeJpeg, 'INPUT_TOO_LARGE'],
  ])('that is %s fails at decoding, in the first attempt', async (_, make, reason) => {
    const { id } = await submit(stack.client, { bytes: await make(), callbackUrl: receiver.url })
    const task = await untilStatus(stack.client, id, 'failed')
    expect(task).toMatchObject({ failure: { reason, retryable: false }, resultUrl: null })
    expect(await readHistory(stack.db, id)).toEqual(['queued', 'processing', 'failed'])
    const body = await until('the webhook arrives', () =>
      receiver.received.map(({ bytes }) => JSON.parse(bytes.toString())).find(({ task_id }) => task_id === id),
    )
    expect(body).toMatchObject({ event: 'task.failed', reason })
  })

  it.each([
    ['overwritten', 'INPUT_CHANGED', (key: string) => stack.bucket.put(key, photo('coffee.png'), png)],
    ['deleted', 'INPUT_MISSING', (key: string) => stack.bucket.delete(key)],
  ])('that was %s after the task was created fails with %s', async (_, reason, change) => {
    await writeSetting(stack.db, 'dispatchPaused', true)
    const imageUrl = await stack.client.upload(lemur())
    const { id } = await stack.client.createTask({ imageUrl })
    await change(imageUrl)
    await writeSetting(stack.db, 'dispatchPaused', false)
    expect(await untilStatus(stack.client, id, 'failed')).toMatchObject({ failure: { reason } })
  })

  it('that is valid is cut out afterwards by the same process', async () => {
    await cutOut(stack.client)
    const started = stack
      .process('worker')
      .log()
      .filter(({ msg }) => msg === 'process started')
    expect(started).toHaveLength(1)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})

/** 54 megapixels, with the frame header beyond the bytes that creation reads. */
async function tooLargeJpeg(): Promise<Buffer> {
  const create = { width: 9_000, height: 6_000, channels: 3, background: '#336699' } as const
  return jpegWithLateSize(await sharp({ create, limitInputPixels: false }).jpeg().toBuffer())
}

import { once } from 'node:events'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import { createSharpCalls } from './sharp-calls.ts'

/** Calls of sharp, over the whole process. */
const count = (): number => sharp.counters().queue + sharp.counters().process

it('sharp never gets more work than there are turns, whatever the kind', async () => {
  const images = createSharpCalls(2)
  const file = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#357' } })
    .jpeg()
    .toBuffer()
  const { signal } = new AbortController()
  const photo = await images.decodePhoto(signal, file, 240_000)
  // A test file that ran before in this process may have left a call.
  while (count() > 0) await once(sharp.queue, 'change')
  let most = 0
  const note = (): void => {
    most = Math.max(most, count())
  }
  sharp.queue.on('change', note)
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0
        ? images.toModelInput(signal, photo, 320)
        : index % 3 === 1
          ? images.decodePhoto(signal, file, 240_000)
          : images.encodeResult(signal, { ...photo, foreground: null }, { format: 'jpeg' }),
    ),
  )
  sharp.queue.off('change', note)
  expect(most).toBe(2)
})

it('a call that waits leaves with its signal, before it has begun', async () => {
  const images = createSharpCalls(1)
  const file = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#357' } })
    .png()
    .toBuffer()
  const stop = new AbortController()
  const first = images.decodePhoto(stop.signal, file, 240_000)
  const second = images.decodePhoto(stop.signal, file, 240_000)
  stop.abort(new Error('claim lost'))
  await expect(second).rejects.toThrow('claim lost')
  expect(await first).toMatchObject({ width: 600 })
})

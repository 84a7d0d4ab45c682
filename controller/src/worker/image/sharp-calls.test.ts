import sharp from 'sharp'
import { expect, it, vi } from 'vitest'
import { createSharpCalls } from './sharp-calls.ts'

/** Counts calls in flight. sharp's own counters include calls that another test file left in this process. */
const inFlight = vi.hoisted(() => {
  const calls = { now: 0, most: 0 }
  const counted = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      calls.now += 1
      calls.most = Math.max(calls.most, calls.now)
      return call(...args).finally(() => {
        calls.now -= 1
      })
    }
  }
  return { calls, counted }
})
vi.mock('./decode.ts', async (load) => {
  const actual = await load<typeof import('./decode.ts')>()
  return { ...actual, decodePhoto: inFlight.counted(actual.decodePhoto) }
})
vi.mock('./encode.ts', async (load) => {
  const actual = await load<typeof import('./encode.ts')>()
  return { ...actual, encodeResult: inFlight.counted(actual.encodeResult) }
})
vi.mock('./model-input.ts', async (load) => {
  const actual = await load<typeof import('./model-input.ts')>()
  return { ...actual, toModelInput: inFlight.counted(actual.toModelInput) }
})

it('never runs more sharp calls than allowed, of any kind', async () => {
  const images = createSharpCalls(2)
  const file = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#357' } })
    .jpeg()
    .toBuffer()
  const { signal } = new AbortController()
  const photo = await images.decodePhoto(signal, file, 240_000)
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0
        ? images.toModelInput(signal, photo, 320)
        : index % 3 === 1
          ? images.decodePhoto(signal, file, 240_000)
          : images.encodeResult(signal, { ...photo, foreground: null }, { format: 'jpeg' }),
    ),
  )
  expect(inFlight.calls).toEqual({ now: 0, most: 2 })
})

it('removes a waiting call when its signal aborts', async () => {
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

import { randomUUID } from 'node:crypto'
import { configureSharp } from '@matte/controller/worker/image/configure'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { createImagePool } from '@matte/controller/worker/image/image-pool'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { openBucket } from '@matte/core/storage/bucket'
import { createClient } from '../support/client.ts'
import { until } from '../support/until.ts'
import type { Installation } from './installation.ts'
import { median } from './median.ts'
import type { Photo } from './rates.ts'

/** Median milliseconds from create to succeeded, one task at a time, by the service's timestamps. */
export async function measureLatency({ origin, apiKey }: Installation, photo: Photo, count: number): Promise<number> {
  const client = createClient(origin, apiKey)
  const imageUrl = await client.upload(photo.bytes, { contentType: photo.contentType })
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const { id } = await client.createTask({ imageUrl })
    const succeeded = async () => {
      const seen = await client.getTask(id)
      return seen.status === 'succeeded' && seen
    }
    const task = await until(`task ${id} succeeds`, succeeded, { timeoutMs: 60_000, everyMs: 50 })
    times.push(Date.parse(task.completedAt ?? '') - Date.parse(task.createdAt))
  }
  return median(times)
}

/** Mean processing milliseconds, `together` tasks at a time, by the service's timestamps. */
export async function measureProcessing(
  { origin, apiKey }: Installation,
  photo: Photo,
  { count, together }: { readonly count: number; readonly together: number },
): Promise<number> {
  const client = createClient(origin, apiKey)
  const imageUrl = await client.upload(photo.bytes, { contentType: photo.contentType })
  const times: number[] = []
  let left = count
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const { id } = await client.createTask({ imageUrl })
      const ended = async () => {
        const seen = await client.getTask(id)
        return seen.completedAt !== null && seen
      }
      const task = await until(`task ${id} has ended`, ended, { timeoutMs: 120_000, everyMs: 100 })
      if (task.durationMs === undefined) throw new Error(`task ${id} is ${task.status} and has no duration`)
      times.push(task.durationMs)
    }
  }
  await Promise.all(Array.from({ length: together }, one))
  return times.reduce((sum, ms) => sum + ms, 0) / times.length
}

export type Parts = Readonly<Record<'get' | 'decode' | 'prepare' | 'infer' | 'refine' | 'put', number>>

/** Median milliseconds of each part alone, with the same functions. */
export async function measureParts({ env, tritonAddress }: Installation, photo: Photo, count: number): Promise<Parts> {
  configureSharp()
  const bucket = openBucket({
    internalEndpoint: env.S3_ENDPOINT ?? '',
    publicEndpoint: env.S3_ENDPOINT ?? '',
    bucket: env.S3_BUCKET ?? '',
    region: env.S3_REGION ?? '',
    accessKeyId: env.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '',
  })
  const triton = connectTriton(loadTriton(), tritonAddress)
  const pool = createImagePool(1)
  const signal = new AbortController().signal
  const times: Record<keyof Parts, number[]> = {
    get: [],
    decode: [],
    prepare: [],
    infer: [],
    refine: [],
    put: [],
  }
  const timed = async <T>(part: keyof Parts, work: () => Promise<T>): Promise<T> => {
    const started = performance.now()
    const result = await work()
    times[part].push(performance.now() - started)
    return result
  }
  const key = `results/bench/${randomUUID()}.png`
  try {
    const shape = await triton.readyModel('u2netp')
    const size = shape?.inputSize ?? 0
    await bucket.put(key, photo.bytes, { contentType: photo.contentType })
    for (let i = 0; i < count; i++) {
      const file = await timed('get', () => bucket.get(key, { maxBytes: photo.bytes.length }))
      const decoded = await timed('decode', () => decodePhoto(file, 50_000_000))
      const image = await timed('prepare', () => toModelInput(decoded, size))
      // A lone task infers its views concurrently.
      const views = Array.from({ length: shape?.views ?? 1 }, (_none, view) => `bench/${i}/${view}`)
      const ask = { model: 'u2netp', image, size, timeoutMs: 30_000, signal }
      const [mask] = await timed('infer', () => Promise.all(views.map((id) => triton.infer({ ...ask, id }))))
      if (mask === undefined) throw new Error('no view was asked for')
      const result = await timed('refine', () => pool.cutOut({ photo: decoded, mask, output: null }))
      if (!('file' in result)) throw new Error('the pool answers with a PNG')
      await timed('put', () => bucket.put(`${key}.result`, result.file, { contentType: 'image/png' }))
    }
  } finally {
    triton.close()
    bucket.close()
    await pool.close()
  }
  return Object.fromEntries(Object.entries(times).map(([part, values]) => [part, median(values)])) as Parts
}

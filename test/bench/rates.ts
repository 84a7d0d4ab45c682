import { connectTriton } from '@matte/controller/inference/triton-client'
import { loadTriton } from '@matte/controller/inference/triton-protocol'
import { createClient, type Task } from '../support/client.ts'
import { until } from '../support/until.ts'
import type { Installation } from './installation.ts'

/** Images per second from the first task's creation to the last one's completion, by the service's own times. */
export async function measurePipeline({ origin, apiKey }: Installation, photo: Photo, count: number): Promise<number> {
  const client = createClient(origin, apiKey)
  const imageUrl = await client.upload(photo.bytes, { contentType: photo.contentType })
  const tasks: Task[] = []
  let asked = 0
  const creators = Array.from({ length: 4 }, async () => {
    while (asked < count) {
      asked += 1
      tasks.push(await client.createTask({ imageUrl }))
    }
  })
  await Promise.all(creators)
  // One cheap question a second: polling each task would be a load of its own.
  for (const status of ['queued', 'processing']) {
    const none = async () => (await client.listTasks({ status, pageSize: '1' })).total === 0
    await until(`no task is ${status}`, none, { timeoutMs: 600_000, everyMs: 500 })
  }
  const done = await Promise.all(tasks.map((task) => client.getTask(task.id)))
  const failed = done.find((task) => task.status !== 'succeeded')
  if (failed) throw new Error(`task ${failed.id} is ${failed.status}: ${failed.failure?.message}`)
  const first = Math.min(...done.map((task) => Date.parse(task.createdAt)))
  const last = Math.max(...done.map((task) => Date.parse(task.completedAt ?? '')))
  return (count * 1_000) / (last - first)
}

export type Photo = { readonly bytes: Buffer; readonly contentType: string }

/** Images per second of Triton alone, through our client, with one request more in flight than it has slots. */
export async function measureTriton(address: string, seconds: number): Promise<number> {
  const client = connectTriton(loadTriton(), address)
  try {
    const shape = await client.readyModel('u2netp')
    if (shape === undefined) throw new Error('model u2netp is not ready')
    const { inputSize: size, slots } = shape
    const image = Buffer.alloc(size * size * 3, 127)
    const signal = new AbortController().signal
    const started = performance.now()
    let count = 0
    const askers = Array.from({ length: slots + 1 }, async (_, asker) => {
      while (performance.now() - started < seconds * 1_000) {
        await client.infer({ model: 'u2netp', id: `bench/${asker}/${count}`, image, size, timeoutMs: 30_000, signal })
        count += 1
      }
    })
    await Promise.all(askers)
    return (count * 1_000) / (performance.now() - started)
  } finally {
    client.close()
  }
}

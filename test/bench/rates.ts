import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { pause } from '@matte/core/runtime/service'
import { Client as HttpClient } from 'undici'
import { createClient, type Task } from '../support/client.ts'
import { until } from '../support/until.ts'
import type { Installation } from './installation.ts'

/** Images omitted at both ends, where cores are idle: the bare model's rate is a steady one too. */
const edgeImages = 4
/** Tasks that wait from the beginning; the others arrive faster than they are processed. */
const aheadTasks = 8

export type PipelineLoad = {
  /** Above 10. */
  readonly count: number
  /** Creations per second, so the measurement includes accepting. */
  readonly pace: number
}

/** Images per second while all slots are busy, by the service's timestamps. */
export async function measurePipeline(
  { origin, apiKey }: Installation,
  photo: Photo,
  { count, pace }: PipelineLoad,
): Promise<number> {
  const client = createClient(origin, apiKey)
  const imageUrl = await client.upload(photo.bytes, { contentType: photo.contentType })
  const tasks: Task[] = []
  // A client with little overhead: its CPU time is not the service's.
  const http = new HttpClient(origin)
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const body = JSON.stringify({ imageUrl })
  const create = async (): Promise<Task> => {
    const answer = await http.request({ method: 'POST', path: '/api/v1/open/developer/tasks', headers, body })
    const { data } = (await answer.body.json()) as { data?: Task }
    if (data === undefined) throw new Error(`a task was not created: ${answer.statusCode}`)
    return data
  }
  const begun = performance.now()
  for (let index = 0; index < count; index++) {
    await pause(Math.max(0, begun + (Math.max(0, index - aheadTasks) * 1_000) / pace - performance.now()))
    tasks.push(await create())
  }
  await http.close()
  // One cheap poll for the last task; a list, or each task, would add load.
  const { id: lastId } = tasks.at(-1) as Task
  const hasLastEnded = async () => (await client.getTask(lastId)).completedAt !== null
  await until('the last task has ended', hasLastEnded, { timeoutMs: 600_000, everyMs: 1_000 })
  for (const status of ['queued', 'processing']) {
    const none = async () => (await client.listTasks({ status, pageSize: '1' })).total === 0
    await until(`no task is ${status}`, none, { timeoutMs: 600_000, everyMs: 1_000 })
  }
  const done: Task[] = []
  for (const { id } of tasks) done.push(await client.getTask(id)) // all at once would exceed the service's limit
  const failed = done.find((task) => task.status !== 'succeeded')
  if (failed) throw new Error(`task ${failed.id} is ${failed.status}: ${failed.failure?.message}`)
  const ends = done.map((task) => Date.parse(task.completedAt ?? '')).sort((a, b) => a - b)
  const steady = ends.slice(edgeImages, -edgeImages)
  return ((steady.length - 1) * 1_000) / ((steady.at(-1) ?? 0) - (steady[0] ?? 0))
}

export type Photo = { readonly bytes: Buffer; readonly contentType: string }

/** Images per second of Triton alone, through the worker's client, with one request beyond its slots. */
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

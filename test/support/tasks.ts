// Actions of an end-to-end test on a task, by documented calls, and assertions about its end.
import type { Db } from '@matte/core/db/database'
import { expect } from 'vitest'
import type { Client, Task } from './client.ts'
import { lemur } from './photos.ts'
import type { Receiver } from './receiver.ts'
import type { TestBucket } from './store.ts'
import { until } from './until.ts'

const isTerminal = ({ status }: Task): boolean => status !== 'queued' && status !== 'processing'

/** Polls until the task has this status; fails at once at another terminal status. */
export async function untilStatus(client: Client, id: string, status: Task['status']): Promise<Task> {
  const task = await until(`task ${id} is ${status}`, async () => {
    const seen = await client.getTask(id)
    return (seen.status === status || isTerminal(seen)) && seen
  })
  if (task.status !== status) throw new Error(`task ${id} is ${task.status}: ${JSON.stringify(task.failure)}`)
  return task
}

/** Uploads and creates. */
export async function submit(client: Client, { bytes = lemur(), callbackUrl }: Submission = {}): Promise<Task> {
  const imageUrl = await client.upload(bytes)
  return client.createTask({ imageUrl, ...(callbackUrl && { callbackUrl }) })
}

export type Submission = { readonly bytes?: Uint8Array; readonly callbackUrl?: string }

/** Uploads, creates, and waits for the cut-out. */
export async function cutOut(client: Client, submission: Submission = {}): Promise<Task> {
  const { id } = await submit(client, submission)
  return untilStatus(client, id, 'succeeded')
}

export async function download(url: string | null): Promise<Buffer> {
  if (url === null) throw new Error('the task has no result')
  const response = await fetch(url)
  if (!response.ok) throw new Error(`the result was answered ${response.status}: ${await response.text()}`)
  return Buffer.from(await response.arrayBuffer())
}

/** Attempts of a task, which the API does not return. */
export async function attemptsOf(db: Db, id: string): Promise<number> {
  const { attempt } = await db.selectFrom('task').select('attempt').where('id', '=', id).executeTakeFirstOrThrow()
  return attempt
}

/** Webhooks of one task by `event`. */
export const eventsOf = ({ received }: Receiver, id: string): string[] =>
  received
    .map(({ bytes }) => JSON.parse(bytes.toString()) as { event: string; task_id: string })
    .filter(({ task_id }) => task_id === id)
    .map(({ event }) => event)

/**
 * Asserts that nothing happened twice: only the referenced result exists and can be downloaded, and one webhook
 * arrived. Waits for a later task's webhook first, so a second webhook of this task would have arrived.
 */
export async function expectOneEffect(
  { client, bucket, receiver }: { client: Client; bucket: TestBucket; receiver: Receiver },
  id: string,
): Promise<void> {
  const later = await cutOut(client, { callbackUrl: receiver.url })
  await until('the webhook of a later task arrives', () => eventsOf(receiver, later.id).length > 0)
  const task = await client.getTask(id)
  expect(task.status).toBe('succeeded')
  // A worker that lost its claim removes its stored result, so no other object exists.
  const own = await until('one result of the task is left', async () => {
    const keys = (await bucket.keys('results/')).filter((key) => key.includes(`/${id}/`))
    return keys.length === 1 && keys
  })
  expect(decodeURIComponent(new URL(task.resultUrl ?? '').pathname)).toBe(`/${bucket.name}/${own[0]}`)
  expect((await download(task.resultUrl)).length).toBeGreaterThan(0)
  expect(eventsOf(receiver, id)).toEqual(['task.succeeded'])
}

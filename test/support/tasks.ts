// What an end-to-end test does with a task, by the documented calls, and what it asks of its end.
import type { Db } from '@matte/core/db/database'
import { expect } from 'vitest'
import type { Client, Task } from './client.ts'
import { lemur } from './photos.ts'
import type { Receiver } from './receiver.ts'
import type { TestBucket } from './store.ts'
import { until } from './until.ts'

const isTerminal = ({ status }: Task): boolean => status !== 'queued' && status !== 'processing'

/** Polls until the task has this status; a terminal status that is another one is an error at once. */
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

/** The attempts that a task has spent, which no caller sees. */
export async function attemptsOf(db: Db, id: string): Promise<number> {
  const { attempt } = await db.selectFrom('task').select('attempt').where('id', '=', id).executeTakeFirstOrThrow()
  return attempt
}

/** The webhooks of one task, as `event` names. */
export const eventsOf = ({ received }: Receiver, id: string): string[] =>
  received
    .map(({ bytes }) => JSON.parse(bytes.toString()) as { event: string; task_id: string })
    .filter(({ task_id }) => task_id === id)
    .map(({ event }) => event)

/**
 * Asserts what "no second effect" means: the one result is the referenced one, and it can be had; one webhook has come.
 * A later task's webhook is waited for first, so that a second one of this task would be there by then.
 */
export async function expectOneEffect(
  { client, bucket, receiver }: { client: Client; bucket: TestBucket; receiver: Receiver },
  id: string,
): Promise<void> {
  const later = await cutOut(client, { callbackUrl: receiver.url })
  await until('the webhook of a later task arrives', () => eventsOf(receiver, later.id).length > 0)
  const task = await client.getTask(id)
  expect(task.status).toBe('succeeded')
  // A worker that lost its claim removes what it stored; nothing else is left beside the result.
  const own = await until('one result of the task is left', async () => {
    const keys = (await bucket.keys('results/')).filter((key) => key.includes(`/${id}/`))
    return keys.length === 1 && keys
  })
  expect(decodeURIComponent(new URL(task.resultUrl ?? '').pathname)).toBe(`/${bucket.name}/${own[0]}`)
  expect((await download(task.resultUrl)).length).toBeGreaterThan(0)
  expect(eventsOf(receiver, id)).toEqual(['task.succeeded'])
}

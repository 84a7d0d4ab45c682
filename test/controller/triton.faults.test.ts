// Loss and return of the model server. A missing pod costs a task no attempt (D32).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../support/client.ts'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { lemur } from '../support/photos.ts'
import type { LogLine } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { OwnServer } from '../support/servers.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const clean = ['queued', 'processing', 'succeeded']

describe('Triton', () => {
  const stack = useStack({ own: ['triton'] })
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  /** Last logged state of the pod. */
  const untilPod = (ready: boolean) =>
    until(`the pod is ${ready ? 'there' : 'gone'}`, () => {
      const seen = stack.process('worker').log()
      const last = seen.findLast(({ msg }) => msg === 'pod ready' || msg === 'pod ejected')
      return (last?.msg === 'pod ready') === ready
    })

  /** Three tasks in flight on a Triton that stops responding. */
  const submitToSilent = async (triton: OwnServer): Promise<Task[]> => {
    const imageUrls = await Promise.all(Array.from({ length: 3 }, () => stack.client.upload(lemur())))
    await triton.kill('SIGSTOP')
    const tasks = await Promise.all(imageUrls.map((imageUrl) => stack.client.createTask({ imageUrl })))
    for (const { id } of tasks) await untilStatus(stack.client, id, 'processing')
    return tasks
  }

  it('absent: a task waits in the queue, and is processed later', async () => {
    const triton = stack.server('triton')
    await untilPod(true)
    await triton.stop()
    await untilPod(false)
    const task = await submit(stack.client)
    expect(await stack.client.getTask(task.id)).toMatchObject({ status: 'queued', completedAt: null, failure: null })
    await triton.start()
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await attemptsOf(stack.db, task.id)).toBe(1)
    expect(await readHistory(stack.db, task.id)).toEqual(clean)
  })

  it('killed with tasks in flight: they lose no attempt', async () => {
    const triton = stack.server('triton')
    await cutOut(stack.client)
    const tasks = await submitToSilent(triton)
    await triton.kill('SIGKILL')
    for (const { id } of tasks) {
      await stack.process('worker').untilLogged('task given back', ({ task_id }) => task_id === id)
      expect(await stack.client.getTask(id)).toMatchObject({ status: 'processing', completedAt: null, failure: null })
      expect(await attemptsOf(stack.db, id)).toBe(0)
    }
    await triton.start()
    for (const { id } of tasks) {
      await untilStatus(stack.client, id, 'succeeded')
      expect(await readHistory(stack.db, id)).toEqual(clean)
    }
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('stopped with tasks in flight: they lose no attempt', async () => {
    const triton = stack.server('triton')
    await cutOut(stack.client)
    const tasks = await submitToSilent(triton)
    await triton.kill('SIGTERM')
    await triton.kill('SIGCONT')
    await triton.stop()
    await triton.start()
    for (const { id } of tasks) {
      await untilStatus(stack.client, id, 'succeeded')
      expect(await attemptsOf(stack.db, id)).toBe(1)
      expect(await readHistory(stack.db, id)).toEqual(clean)
    }
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('hanging with a task in flight: it loses an attempt, and the next one succeeds', async () => {
    const triton = stack.server('triton')
    await stack.process('worker').stop()
    await stack.start('worker', { INFERENCE_TIMEOUT_MS: '5000' })
    await untilPod(true)
    await triton.kill('SIGSTOP')
    const task = await submit(stack.client)
    const isOwn = ({ task_id }: LogLine): boolean => task_id === task.id
    const failed = await stack.process('worker').untilLogged('task attempt failed', isOwn)
    expect(failed).toMatchObject({ reason: 'INFERENCE_TIMEOUT', outcome: 'waiting' })
    await triton.kill('SIGCONT')
    await untilStatus(stack.client, task.id, 'succeeded')
    expect((await readHistory(stack.db, task.id)).slice(0, 3)).toEqual(['queued', 'processing', 'attempt_failed'])
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('absent for too long: the task fails with INFERENCE_TIMEOUT and a webhook', async () => {
    await stack.server('triton').stop()
    await stack.process('worker').stop()
    await stack.start('worker', { MAX_QUEUE_AGE_SECONDS: '2' })
    const { id } = await submit(stack.client, { callbackUrl: receiver.url })
    const task = await untilStatus(stack.client, id, 'failed')
    expect(task).toMatchObject({ failure: { reason: 'INFERENCE_TIMEOUT' }, resultUrl: null })
    expect(Date.parse(task.completedAt ?? '') - Date.parse(task.createdAt)).toBeGreaterThanOrEqual(2_000)
    const [webhook] = await receiver.until(1)
    expect(JSON.parse(webhook?.bytes.toString() ?? '')).toMatchObject({
      event: 'task.failed',
      task_id: id,
      reason: 'INFERENCE_TIMEOUT',
    })
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})

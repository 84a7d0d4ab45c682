// SIGTERM: in-flight work is finished or given back, and the process leaves within its time.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import type { TestProcess } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { attemptsOf, cutOut, submit, untilStatus } from '../support/tasks.ts'

describe('after SIGTERM', () => {
  const stack = useStack({ own: ['triton'] })
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  async function givenInFlight() {
    await cutOut(stack.client)
    await stack.server('triton').kill('SIGSTOP')
    const task = await submit(stack.client)
    await untilStatus(stack.client, task.id, 'processing')
    return task
  }

  /** The process said that it has stopped by itself, and is gone. */
  async function expectCleanEnd(ended: TestProcess): Promise<void> {
    await ended.untilEnded()
    const messages = ended.log().map(({ msg }) => msg)
    expect(messages.at(-1)).toBe('process stopped')
    expect(messages).not.toContain('process did not stop in time')
  }

  it('a controller finishes what it has in flight and takes nothing new', async () => {
    const task = await givenInFlight()
    const controller = stack.process('controller')
    await controller.kill('SIGTERM')
    await controller.untilLogged('process stopping')
    await stack.server('triton').kill('SIGCONT')
    await expectCleanEnd(controller)
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readHistory(stack.db, task.id)).toEqual(['queued', 'processing', 'succeeded'])
    const next = await submit(stack.client)
    expect(await stack.client.getTask(next.id)).toMatchObject({ status: 'queued' })
    await stack.start('controller')
    await untilStatus(stack.client, next.id, 'succeeded')
  })

  it('a controller gives back what does not end in time, at no cost of an attempt', async () => {
    await stack.process('controller').stop()
    const controller = await stack.start('controller', { STOP_WITHIN_MS: '4000' })
    const task = await givenInFlight()
    await controller.kill('SIGTERM')
    try {
      await expectCleanEnd(controller)
    } finally {
      await stack.server('triton').kill('SIGCONT') // the tests after this one need it
    }
    expect(controller.log()).toContainEqual(expect.objectContaining({ msg: 'task given back', task_id: task.id }))
    expect(await attemptsOf(stack.db, task.id)).toBe(0)
    await stack.start('controller')
    await untilStatus(stack.client, task.id, 'succeeded')
    expect(await readHistory(stack.db, task.id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it.each(['api', 'dispatcher'] as const)('the %s ends cleanly, and its successor goes on', async (name) => {
    const ended = stack.process(name)
    await ended.kill('SIGTERM')
    await expectCleanEnd(ended)
    await stack.start(name)
    await cutOut(stack.client, { callbackUrl: receiver.url })
    await receiver.until(1)
  })
})

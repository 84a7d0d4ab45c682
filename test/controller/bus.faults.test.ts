// Loss and return of NATS. It carries only nudges, so no accepted task may depend on it.

import { openBus } from '@matte/core/bus/bus'
import { createNudge } from '@matte/core/bus/nudge'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../support/client.ts'
import { readHistory } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { lemur } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, expectOneEffect, submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

describe('with NATS', () => {
  const stack = useStack({ own: ['nats'] })

  const create = async (): Promise<string> => {
    const body = { imageUrl: await stack.client.upload(lemur()) }
    const { status, data } = await stack.client.call<Task>('POST', '/tasks', { body })
    expect(status).toBe(201)
    return data.id
  }

  it.each([
    ['gone', 'SIGKILL'],
    ['hanging', 'SIGSTOP'],
  ] as const)('%s, creates return 201; all tasks are processed when it is back', async (_, fault) => {
    const nats = stack.server('nats')
    await cutOut(stack.client)
    await nats.kill(fault)
    const during = [await create(), await create(), await create()]
    if (fault === 'SIGKILL') await nats.start()
    else await nats.kill('SIGCONT')
    for (const id of [...during, await create()]) await untilStatus(stack.client, id, 'succeeded')
    expect(await findBrokenRules(stack.db)).toEqual({})
  })

  it('stopped, the API starts and is ready', async () => {
    const nats = stack.server('nats')
    await nats.stop()
    await stack.process('api').stop()
    await stack.start('api')
    const task = await submit(stack.client)
    await nats.start()
    await untilStatus(stack.client, task.id, 'succeeded')
  })
})

describe('when only nudges wake the controller', () => {
  // The timer for lost nudges is far away, so only nudges can help.
  const stack = useStack({ own: ['nats'], env: { worker: { CLAIM_EVERY_MS: '3600000' } } })

  /** New tasks nudge; the worker then finds the others too. */
  const untilAllSucceeded = async (ids: readonly string[]): Promise<void> => {
    await until(
      'the nudges of new tasks also finish the old ones',
      async () => {
        const tasks = await Promise.all(ids.map((id) => stack.client.getTask(id)))
        if (tasks.every(({ status }) => status === 'succeeded')) return true
        await submit(stack.client)
        return false
      },
      { everyMs: 1_000 },
    )
  }

  it('tasks survive a restart of NATS', async () => {
    const nats = stack.server('nats')
    await untilAllSucceeded([(await submit(stack.client)).id])
    await nats.stop()
    const during = [await submit(stack.client), await submit(stack.client)]
    await nats.start()
    await untilAllSucceeded(during.map(({ id }) => id))
  })

  it('tasks survive the loss of everything that NATS stored', async () => {
    const nats = stack.server('nats')
    await nats.kill('SIGKILL')
    nats.wipe()
    const during = [await submit(stack.client), await submit(stack.client)]
    await nats.start()
    await untilAllSucceeded(during.map(({ id }) => id))
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})

describe('a duplicate, late or needless nudge', () => {
  const stack = useStack()
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  it('has no second effect', async () => {
    const logger = pino({ level: 'silent' })
    const bus = openBus({ url: stack.natsUrl, prefix: stack.prefix, name: 'test', logger })
    await bus.start()
    await until('the bus is connected', () => bus.connection())
    const nudge = createNudge(bus, logger)
    const nudgeAll = (id: string): void => {
      for (let times = 0; times < 50; times++) {
        nudge.task('service-v2', id)
        nudge.task('no-such-model', id)
        nudge.task('service-v2', crypto.randomUUID())
        nudge.delivery(id)
      }
    }
    const { id } = await submit(stack.client, { callbackUrl: receiver.url })
    nudgeAll(id)
    await untilStatus(stack.client, id, 'succeeded')
    await receiver.until(1)
    nudgeAll(id)
    await bus.connection()?.flush()
    await expectOneEffect({ client: stack.client, bucket: stack.bucket, receiver }, id)
    expect(await readHistory(stack.db, id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await findBrokenRules(stack.db)).toEqual({})
    await bus.stop()
  })
})

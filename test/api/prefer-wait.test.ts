import { longPoll, taskPoll } from '@matte/api/long-poll'
import { openBus } from '@matte/core/bus/bus'
import { createNudge } from '@matte/core/bus/nudge'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { pino } from 'pino'
import { describe, expect, inject, it } from 'vitest'
import { startApi } from '../support/api.ts'
import type { Answer, Task } from '../support/client.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { type Caller, claim, givenCaller, smallImage, succeed, useApi } from './given.ts'

const world = useApi({ TASKS_MAX_WAIT: '20' })

async function givenImage(options: Parameters<typeof world.caller>[0] = { plan: 'internal' }) {
  const caller = await world.caller(options)
  return { ...caller, imageUrl: await caller.client.upload(await smallImage()) }
}

const create = ({ client }: Pick<Caller, 'client'>, imageUrl: string, prefer: string): Promise<Answer<Task>> =>
  client.call<Task>('POST', '/tasks', { body: { imageUrl }, headers: { prefer } })

/** Waits for the only task of a workspace; returns its id. */
const untilCreated = ({ workspaceId }: Pick<Caller, 'workspaceId'>): Promise<string> =>
  until('the task is created', async () => {
    const task = await world.db
      .selectFrom('task')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst()
    return task?.id
  })

describe('Prefer: wait=N', () => {
  it('returns 201 with the result once the task has succeeded', async () => {
    const caller = await givenImage()
    const answer = create(caller, caller.imageUrl, 'wait=20')
    await succeed(world.db, await untilCreated(caller))
    const { status, data, headers } = await answer
    expect(status).toBe(201)
    expect(headers.get('preference-applied')).toBe('wait=20')
    expect(data).toMatchObject({ status: 'succeeded', creditCost: 1, resultUrl: expect.any(String), width: 40 })
    expect(data.durationMs).toBeGreaterThanOrEqual(0)
  })

  it('returns a failed and a canceled task as well', async () => {
    const failed = await givenImage()
    const failing = create(failed, failed.imageUrl, 'wait=20')
    await failAttempt(world.db, await claim(world.db, await untilCreated(failed)), 'INPUT_UNREADABLE')
    expect((await failing).data).toMatchObject({ status: 'failed', failure: { reason: 'INPUT_UNREADABLE' } })
    const canceled = await givenImage()
    const canceling = create(canceled, canceled.imageUrl, 'wait=20')
    await canceled.client.cancelTask(await untilCreated(canceled))
    expect((await canceling).data.status).toBe('canceled')
  })

  it('returns the current task at the timeout', async () => {
    const caller = await givenImage()
    const answer = create(caller, caller.imageUrl, 'handling=strict, wait=1')
    await claim(world.db, await untilCreated(caller))
    const { status, data, headers } = await answer
    expect([status, data.status]).toEqual([201, 'processing'])
    expect(headers.get('preference-applied')).toBe('handling=strict, wait=1')
  })

  it('of zero returns at once', async () => {
    const caller = await givenImage()
    const { data, headers } = await create(caller, caller.imageUrl, 'wait=0')
    expect([data.status, headers.get('preference-applied')]).toEqual(['queued', 'wait=0'])
  })

  it.each(['wait=soon', 'wait=-5', 'wait=', 'wait', 'wait=2.5', 'respond-async'])(
    'that is invalid is ignored: %j',
    async (prefer) => {
      const caller = await givenImage()
      const { status, data, headers } = await create(caller, caller.imageUrl, prefer)
      expect([status, data.status, headers.get('preference-applied')]).toEqual([201, 'queued', null])
    },
  )

  it('holds no database connection and no request capacity', async () => {
    const api = await startApi({
      DATABASE_URL: world.databaseUrl,
      DATABASE_POOL_MAX: '2',
      REQUESTS_IN_WORK_MAX: '5',
      TASKS_MAX_WAIT: '20',
    })
    try {
      const { client, workspaceId } = await givenCaller(world.db, api, { plan: 'internal' })
      const imageUrl = await client.upload(await smallImage())
      const answers: Promise<Answer<Task>>[] = []
      const ids = new Set<string>()
      for (let i = 0; i < 20; i++) {
        answers.push(create({ client }, imageUrl, 'wait=20'))
        await until('the next one waits', async () => {
          const rows = await world.db.selectFrom('task').select('id').where('workspace_id', '=', workspaceId).execute()
          for (const { id } of rows) ids.add(id)
          return ids.size === i + 1
        })
      }
      expect((await client.listTasks({ status: 'queued' })).total).toBe(20)
      for (const id of ids) await client.cancelTask(id)
      for (const answer of answers) expect((await answer).data.status).toBe('canceled')
    } finally {
      await api.stop()
    }
  })

  it('ends with the process, which returns the current task', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, STOP_WITHIN_MS: '600000', TASKS_MAX_WAIT: '50' })
    const caller = await givenCaller(world.db, api, { plan: 'internal' })
    const answer = create(caller, await caller.client.upload(await smallImage()), 'wait=50')
    await untilCreated(caller)
    const startedAt = performance.now()
    await api.stop()
    const { status, data } = await answer
    expect([status, data.status]).toEqual([201, 'queued'])
    expect(performance.now() - startedAt).toBeLessThan(40_000)
  })

  it('is capped at the service’s maximum', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, TASKS_MAX_WAIT: '1' })
    try {
      const caller = await givenCaller(world.db, api, { plan: 'internal' })
      const imageUrl = await caller.client.upload(await smallImage())
      const { data, headers } = await create(caller, imageUrl, 'wait=99999999999999999999')
      expect([data.status, headers.get('preference-applied')]).toEqual(['queued', 'wait=1'])
    } finally {
      await api.stop()
    }
  })

  it('of a replay waits like the first', async () => {
    const caller = await givenImage()
    const send = (prefer: string) =>
      caller.client.call<Task>('POST', '/tasks', {
        body: { imageUrl: caller.imageUrl },
        headers: { prefer, 'idempotency-key': 'one' },
      })
    const { data } = await send('wait=0')
    const again = send('wait=20')
    await succeed(world.db, data.id)
    expect((await again).data).toMatchObject({ id: data.id, status: 'succeeded' })
  })
})

describe('waits of a process', () => {
  const never = new AbortController().signal
  const logger = pino({ level: 'silent' })
  const bus = openBus({ name: 'test', prefix: 'test', url: 'nats://127.0.0.1:1', logger }) // not started

  it('are limited to a quarter per workspace, and per member over all workspaces', async () => {
    const { db } = world
    const waits = taskPoll({ db, bus, logger })
    const { id } = await givenTask(db, await givenWorkspace(db))
    const wait = (...holders: string[]) => waits.wait(id, { waitMs: 600_000, signal: never, holders })
    const open = Array.from({ length: 250 }, (_, i) => wait(`workspace ${i % 5}`, 'person'))
    expect(await wait('another workspace', 'person')).toBeNull()
    open.push(wait('workspace 0', 'another person'), wait('another workspace'))
    waits.end()
    expect(await Promise.all(open)).toEqual(Array(252).fill(undefined))
  })

  it('are read at once on a nudge about their workspace, without those of others', async () => {
    const reads: string[] = []
    const live = openBus({ name: 'test', prefix: `t${world.api.config.port}`, url: inject('natsUrl'), logger })
    await live.start()
    const read = async (ids: readonly string[]) => {
      reads.push([...ids].sort().join())
      return []
    }
    const waits = longPoll({ name: 'test', read, bus: live, logger })
    await waits.start()
    const over = new AbortController()
    for (const id of ['a', 'b']) {
      void waits.wait(id, { waitMs: 600_000, signal: over.signal, holders: [`workspace ${id}`] })
    }
    await until('both are read', async () => reads.includes('a,b'))
    reads.length = 0
    const nudge = createNudge(live, logger)
    await until('the nudge is heard', async () => {
      nudge.change('workspace a')
      return reads.includes('a')
    })
    expect(reads).not.toContain('b')
    over.abort()
    await waits.stop()
    await live.stop()
  })

  it('are bounded, end with their caller, and can all be ended at once', async () => {
    const { db } = world
    const waits = taskPoll({ db, bus, logger })
    await waits.start()
    const { id } = await givenTask(db, await givenWorkspace(db))
    const gone = new AbortController()
    const wait = (holders: string[], signal = never) => waits.wait(id, { waitMs: 600_000, signal, holders })
    // A thousand, of four holders.
    const open = Array.from({ length: 1_000 }, (_, i) => wait([`holder ${i % 4}`], i === 0 ? gone.signal : never))
    expect(await wait(['another'])).toBeNull()
    gone.abort()
    expect(await open[0]).toBeUndefined()
    const freed = wait(['another'])
    await succeed(db, id)
    for (const wait of [...open.slice(1), freed]) expect(await wait).toMatchObject({ id, status: 'succeeded' })
    const last = await givenTask(db, await givenWorkspace(db))
    const options = { waitMs: 600_000, signal: never, holders: ['one'] }
    const waiting = waits.wait(last.id, options)
    waits.end()
    expect(await waiting).toBeUndefined()
    expect(await waits.wait(last.id, options)).toBeUndefined()
    await waits.stop()
  })
})

// Batches, webhooks, sweeps, migrations and matte-admin through PgBouncer under load. Transaction mode has fewer server
// sessions than connections, so each session serves all processes.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { admin, adminText } from '../support/admin.ts'
import type { Task } from '../support/client.ts'
import { createEmptyDatabase, useDatabase } from '../support/database.ts'
import { onePixelPng } from '../support/factories.ts'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { findBrokenRules } from '../support/invariants.ts'
import type { Env, ProcessName, TestProcess } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { isPgbouncerMissing, type Pooler, startPgbouncer } from './pgbouncer.ts'

const names: readonly ProcessName[] = ['api', 'worker', 'dispatcher']
const [singles, batches, batchSize, lanes] = [120, 8, 10, 6]

const modes = [
  // As many server sessions as all pools may open.
  { mode: 'session', poolSize: 80, settings: () => ({}) },
  {
    mode: 'transaction',
    poolSize: 5,
    settings: (direct: string) => ({ DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: direct }),
  },
] as const

/** Ids in order of the responses, per kind of call. */
type ClientLog = { readonly tasks: string[]; readonly canceled: string[]; readonly batches: string[] }

describe.skipIf(isPgbouncerMissing('pgbouncer'))('PgBouncer', () => {
  describe.each(modes)('in $mode mode', ({ mode, poolSize, settings }) => {
    const stack = useStack({ processes: [] })
    const running: TestProcess[] = []
    let pooler: Pooler
    let fake: Fake
    let receiver: Receiver

    /** Replaces the direct URLs by the pooler's. */
    const throughPooler = (url: string): Env => ({ DATABASE_URL: pooler.through(url), ...settings(url) })
    async function start(name: ProcessName): Promise<TestProcess> {
      const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [fake.address], default: true }]
      const started = await stack.start(name, (env) => ({
        ...env,
        ...throughPooler(env.DATABASE_URL ?? ''),
        MODELS_STATIC: JSON.stringify(models),
      }))
      running.push(started)
      return started
    }

    beforeAll(async () => {
      pooler = await startPgbouncer({ mode, poolSize })
      fake = await startFake({ models: [{ name: 'u2netp', instances: 8 }], behaviour: { serviceMs: 5 } })
      receiver = await startReceiver()
      await Promise.all(names.map(start))
    })
    afterAll(async () => {
      await Promise.all(running.map((each) => each.stop()))
      await receiver?.close()
      await fake?.stop()
      await pooler?.stop()
    })

    async function createAndCancel(log: ClientLog): Promise<void> {
      const { client } = stack
      const imageUrl = await client.upload(onePixelPng)
      let created = 0
      const lane = async (): Promise<void> => {
        while (created < singles) {
          created += 1
          const isTenth = created % 10 === 0
          const { id } = await client.createTask({ imageUrl, callbackUrl: receiver.url })
          const canceled = isTenth && (await isCanceled(id))
          log[canceled ? 'canceled' : 'tasks'].push(id)
        }
      }
      await Promise.all(Array.from({ length: lanes }, lane))
    }
    /** False when the task was claimed first. */
    const isCanceled = (id: string): Promise<boolean> =>
      stack.client.cancelTask(id).then(
        () => true,
        () => false,
      )
    async function createBatches(log: ClientLog): Promise<void> {
      const { client } = stack
      const imageUrls = Array<string>(batchSize).fill(await client.upload(onePixelPng))
      for (let batch = 0; batch < batches; batch++) {
        const body = { imageUrls, callbackUrl: receiver.url }
        const { data } = await client.call<{ id: string }>('POST', '/batch-tasks', { body })
        log.batches.push(data.id)
      }
    }
    /** Four programs migrate an empty database once, while the pooler serves the load. */
    async function migrateAnother(): Promise<void> {
      const database = await createEmptyDatabase()
      try {
        const env = { ...stack.env('api'), ...throughPooler(database.url), DATABASE_WAIT_MS: '60000' }
        const create = (name: number) => admin(['workspace', 'create', '--name', `w${name}`, '--plan', 'internal'], env)
        await Promise.all([1, 2, 3, 4].map(create))
        const { rows } = await sql<{ count: number }>`select count(*)::int as count from workspace`.execute(database.db)
        expect(rows).toEqual([{ count: 4 }])
      } finally {
        await database.drop()
      }
    }

    it('completes every task and batch exactly once, although a controller is killed', async () => {
      const { client, db } = stack
      await writeSetting(db, 'webhooks.allowedTargets', [receiver.target])
      const log: ClientLog = { tasks: [], canceled: [], batches: [] }
      const killOne = async (): Promise<void> => {
        await until('some tasks are there', () => log.tasks.length > singles / 4)
        await stack.process('worker').kill('SIGKILL')
        await start('worker')
      }
      await Promise.all([createAndCancel(log), createBatches(log), migrateAnother(), killOne()])

      for (const id of log.tasks) await untilStatus(client, id, 'succeeded')
      for (const id of log.canceled) await untilStatus(client, id, 'canceled')
      for (const id of log.batches) {
        const batch = await until(`batch ${id} is completed`, async () => {
          const { data } = await client.call<{ status: string; succeededCount: number }>('GET', `/batch-tasks/${id}`)
          return data.status === 'completed' && data
        })
        expect(batch.succeededCount).toBe(batchSize)
      }
      const { total } = await client.listTasks()
      expect(total).toBe(log.tasks.length + log.canceled.length + batches * batchSize)
      await expectWebhooks(log)
      expect(await findBrokenRules(db)).toEqual({})
    })

    /** One per task, batch and child; the client has not seen the children's ids. */
    async function expectWebhooks(log: ClientLog): Promise<void> {
      const seen = () =>
        receiver.received.map(({ bytes }) => {
          const { event, task_id, batch_job_id } = JSON.parse(bytes.toString()) as Record<string, string | undefined>
          return `${event} ${task_id ?? batch_job_id}`
        })
      const tasks = log.tasks.map((id) => `task.succeeded ${id}`)
      const wanted = [...tasks, ...log.batches.map((id) => `batch.completed ${id}`)]
      await until('all webhooks are there', () => {
        const all = new Set(seen())
        return wanted.every((each) => all.has(each)) && all.size >= wanted.length + batches * batchSize
      })
      expect(new Set(seen()).size).toBe(wanted.length + batches * batchSize)
      expect(seen().filter((each, index, all) => all.indexOf(each) !== index)).toEqual([])
    }

    it('lets a sweep fail a task that waited too long', async () => {
      await writeSetting(stack.db, 'dispatchPaused', true)
      const { id } = await submit(stack.client, { bytes: onePixelPng })
      await sql`update task set queued_at = queued_at - interval '2 days' where id = ${id}`.execute(stack.db)
      const task: Task = await untilStatus(stack.client, id, 'failed')
      expect(task.failure?.reason).toBe('INFERENCE_TIMEOUT')
      await writeSetting(stack.db, 'dispatchPaused', false)
      expect(await findBrokenRules(stack.db)).toEqual({})
    })

    it('logs no error about statements or sessions of other processes', () => {
      const lines = running.flatMap((each) => each.log()).map((line) => JSON.stringify(line))
      expect(lines.filter((line) => /prepared statement|bind message|startup parameter|08P01/.test(line))).toEqual([])
    })
  })

  describe('in transaction mode without the setting', () => {
    const database = useDatabase()
    let pooler: Pooler
    beforeAll(async () => {
      pooler = await startPgbouncer({ mode: 'transaction', poolSize: 3 })
    })
    afterAll(() => pooler?.stop())
    const list = (env: Env) => adminText(['setting', 'list'], env)

    it('fails the start and names the setting', async () => {
      const env = { DATABASE_URL: pooler.through(database.url) }
      await expect(list(env)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/set DATABASE_POOLER=transaction/),
      })
      const both = { ...env, DATABASE_DIRECT_URL: database.url }
      await expect(list(both)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/set DATABASE_POOLER=transaction/),
      })
    })

    it('fails the start if DATABASE_DIRECT_URL is missing or not direct', async () => {
      const env = { DATABASE_URL: pooler.through(database.url), DATABASE_POOLER: 'transaction' }
      await expect(list(env)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/DATABASE_DIRECT_URL is missing/),
      })
      const indirect = { ...env, DATABASE_DIRECT_URL: `${env.DATABASE_URL}?connect_timeout=9` }
      await expect(list(indirect)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/DATABASE_DIRECT_URL must lead to/),
      })
    })
  })
})

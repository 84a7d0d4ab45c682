// Images need no Kubernetes: a worker starts, sweeps and stops while the API server is away. The operator waits for the
// API server and needs no object store.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { freePorts } from '../support/free-ports.ts'
import type { TestProcess } from '../support/processes.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

describe('without an API server', () => {
  const stack = useStack({ processes: [] })
  let dir: string
  let worker: TestProcess
  let operator: TestProcess
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'matte-kubeconfig-'))
    const [nobody = 0] = await freePorts(1)
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'away',
      contexts: [{ name: 'away', context: { cluster: 'away', user: 'nobody', namespace: 'matte' } }],
      clusters: [{ name: 'away', cluster: { server: `https://127.0.0.1:${nobody}` } }],
      users: [{ name: 'nobody', user: { token: 'none' } }],
    }
    writeFileSync(join(dir, 'config'), JSON.stringify(kubeconfig))
    const KUBECONFIG = join(dir, 'config')
    const pools = { KUBECONFIG, TRITON_POOLS: 'on', MODELS_STATIC: '' }
    worker = await stack.start('worker', { ...pools, MAX_QUEUE_AGE_SECONDS: '60' })
    const noStore = { S3_ENDPOINT: '', S3_BUCKET: '', S3_ACCESS_KEY_ID: '', S3_SECRET_ACCESS_KEY: '' }
    operator = await stack.start('operator', { KUBECONFIG, ...noStore })
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('the worker is ready, and sweeps', async () => {
    const task = await givenTask(stack.db, await givenWorkspace(stack.db), { ageMs: 120_000 })
    await until('the old task is ended', async () => {
      const row = await stack.db.selectFrom('task').select('status').where('id', '=', task.id).executeTakeFirst()
      return row?.status === 'failed'
    })
  })

  it('the worker does not change the list of models, because it could not read them', async () => {
    await sql`update model set available = true where name = 'service-v2'`.execute(stack.db)
    await worker.untilLogged('listing failed')
    const { rows } = await sql`select name from model where available`.execute(stack.db)
    expect(rows).toContainEqual({ name: 'service-v2' })
  })

  it.each(['worker', 'operator'] as const)('the %s counts failed requests with their reason', async (name) => {
    const errors = { dependency: 'kubernetes', reason: 'unreachable' }
    await until('a refused connection is counted', async () => {
      const metrics = await readMetrics(stack.process(name))
      return metrics.sum('matte_dependency_errors_total', errors) > 0
    })
    const metrics = await readMetrics(stack.process(name))
    const all = metrics.sum('matte_dependency_errors_total', { dependency: 'kubernetes' })
    expect(metrics.sum('matte_dependency_errors_total', errors)).toBe(all)
  })

  it('the operator does not lead, and has no task metrics', async () => {
    const metrics = await readMetrics(operator)
    expect(metrics.samples('matte_leader')).toMatchObject([{ labels: { process: 'operator' }, value: 0 }])
    expect(metrics.samples('matte_tasks_in_flight')).toEqual([])
  })

  it('both stop cleanly', async () => {
    for (const process of [worker, operator]) {
      await process.kill('SIGTERM')
      await process.untilEnded()
      expect(process.log().at(-1)?.msg).toBe('process stopped')
    }
  })
})

describe('a worker with nothing to serve', () => {
  const stack = useStack({ processes: [] })

  it('names the missing settings', async () => {
    await expect(stack.start('worker', { TRITON_POOLS: 'off', MODELS_STATIC: '' })).rejects.toThrow(
      /MODELS_STATIC.*TRITON_POOLS/,
    )
  })
})

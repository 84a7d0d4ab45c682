// Work on images needs no Kubernetes: a controller starts, sweeps and stops while the API server is away.
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

describe('a controller whose API server is away', () => {
  const stack = useStack({ processes: [] })
  let dir: string
  let controller: TestProcess
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
    controller = await stack.start('worker', {
      TRITON_POOLS: 'on',
      MODELS_STATIC: '',
      KUBECONFIG: join(dir, 'config'),
      MAX_QUEUE_AGE_SECONDS: '60',
    })
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('is ready, and sweeps', async () => {
    const task = await givenTask(stack.db, await givenWorkspace(stack.db), { ageMs: 120_000 })
    await until('the old task is ended', async () => {
      const row = await stack.db.selectFrom('task').select('status').where('id', '=', task.id).executeTakeFirst()
      return row?.status === 'failed'
    })
  })

  it('leaves the list of models as it was: it knows of none, which is not that there is none', async () => {
    await sql`update model set available = true where name = 'service-v2'`.execute(stack.db)
    await controller.untilLogged('listing failed')
    const { rows } = await sql`select name from model where available`.execute(stack.db)
    expect(rows).toContainEqual({ name: 'service-v2' })
  })

  it('counts what it could not ask, and why', async () => {
    const errors = { dependency: 'kubernetes', reason: 'unreachable' }
    await until('a refused connection is counted', async () => {
      const metrics = await readMetrics(controller)
      return metrics.sum('matte_dependency_errors_total', errors) > 0
    })
    const metrics = await readMetrics(controller)
    const all = metrics.sum('matte_dependency_errors_total', { dependency: 'kubernetes' })
    expect(metrics.sum('matte_dependency_errors_total', errors)).toBe(all)
  })

  it('stops cleanly', async () => {
    await controller.kill('SIGTERM')
    await controller.untilEnded()
    expect(controller.log().at(-1)?.msg).toBe('process stopped')
  })
})

describe('a controller with nothing to serve', () => {
  const stack = useStack({ processes: [] })

  it('says what it needs', async () => {
    await expect(stack.start('worker', { TRITON_POOLS: 'off', MODELS_STATIC: '' })).rejects.toThrow(
      /MODELS_STATIC.*TRITON_POOLS/,
    )
  })
})

// Every panel of the dashboards, against a Prometheus that scrapes the service while a pool scales up, rolls out, rolls
// back and scales down. `make dashboards` also writes pictures to docs/dashboards.
import { join } from 'node:path'
import type { PoolSpecInput, TritonPool } from '@matte/controller/operator/pool/triton-pool'
import { targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import { type Callers, startCallers } from '../dashboards/callers.ts'
import { drawPictures } from '../dashboards/draw.ts'
import { listSilent, namespace, panelQueries } from '../dashboards/panels.ts'
import { findMissingPrometheus, type Prometheus, startPrometheus } from '../dashboards/prometheus.ts'
import { until } from '../support/until.ts'
import { type Load, startLoad } from './support/load.ts'
import { reasonOf, useOperator } from './support/operator.ts'
import { print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'u2netp'
const spec: Partial<PoolSpecInput> = {
  slotsPerPod: 1,
  scaling: { minReplicas: 1, maxReplicas: 4, stabilizationWindowSeconds: 5 },
  rollout: {
    steps: [
      { weight: 20, durationSeconds: 5 },
      { weight: 60, durationSeconds: 5 },
    ],
    gate: { readySeconds: 60, maxErrorRate: 0.02, maxLatencyRatio: 100, minRequests: 5 },
  },
}

describe.skipIf(findMissingPrometheus('test/e2e/dashboards'))('the dashboards of a service with a pool', () => {
  const operator = useOperator()
  let begun: number
  let prometheus: Prometheus
  let callers: Callers
  let load: Load

  let plain: TritonPool

  /** Slow pods, so that a few tasks per second need several. */
  const apply = (variables: Readonly<Record<string, string>> = {}) =>
    operator.applyPool(name, { ...spec, podPatch: withEnvironment(plain, { FAKE_SERVICE_MS: '400', ...variables }) })

  beforeAll(async () => {
    // Before a controller runs, which would roll out each change.
    plain = await operator.applyPool(name, spec)
    await apply()
    const controllers = [await operator.startController(), await operator.startController()]
    const { stack } = operator
    prometheus = await startPrometheus(join(inject('runDir'), 'prometheus'), { namespace })
    prometheus.watch([
      stack.process('api'),
      ...controllers,
      ...controllers.map(({ worker }) => worker),
      stack.process('dispatcher'),
    ])
    await operator.untilPool(name, 'has a pod', ({ status }) => status?.readyReplicas === 1)
    // Counts before the first scrape are no increase.
    await until('all are read', async () => (await prometheus.query('count(up == 1)'))[0]?.points[0]?.[1] === 4)
    begun = Date.now() / 1_000
    callers = await startCallers(stack)
    load = await startLoad({ stack })
  })
  afterAll(async () => {
    await callers?.stop()
    await prometheus?.stop()
  })

  it('show data in every panel', async () => {
    load.rate(5)
    await operator.untilPool(name, 'has more pods', ({ status }) => (status?.readyReplicas ?? 0) > 2)
    print('grown')
    const good = targetRevision(await apply({ FAKE_ROUND: '2' }))
    await operator.untilPool(name, 'is promoted', ({ status }) => status?.rollout?.stable === good)
    print('a new revision promoted')
    await apply({ FAKE_ROUND: '3', FAKE_ERROR_RATE: '0.5' })
    await operator.untilPool(name, 'rolls back', (pool) => reasonOf(pool, 'RolledBack') !== undefined)
    print('a bad revision rolled back')
    load.rate(0)
    await callers.stop()
    await operator.untilPool(name, 'shrinks', ({ status }) => status?.readyReplicas === 1)
    print('shrunk')
    callers = await startCallers(operator.stack)
    await until(
      'every panel shows data',
      async () => {
        const silent = await listSilent(prometheus, panelQueries)
        if (silent.length > 0) throw new Error(`nothing to show:\n${silent.join('\n')}`)
        return true
      },
      { timeoutMs: 180_000, everyMs: 2_000 },
    )
    await load.stop()
    await drawPictures(prometheus, begun)
  })
})

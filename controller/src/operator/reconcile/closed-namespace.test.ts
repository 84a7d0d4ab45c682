import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { rolloutQueue } from '../rollout/rollout-queue.ts'
import { noRecords, poolOf, worldOf } from './plan.fixtures.ts'
import type { RefusedToken } from './pool-memory.ts'
import { reconcile } from './reconcile.ts'
import { createScaleMetrics } from './scale-metrics.ts'

const term = { count: 4, lease: 'lease-uid' }

const refused: RefusedToken = {
  pool: 'p',
  object: 'Deployment p-1',
  revision: '1',
  error: new KubeError(403, 'Forbidden', 'no'),
  closesPool: true,
}

it('writes the conditions of a closed pool in its namespace', async () => {
  const written: string[] = []
  const clientOf = (namespace: string) => ({
    namespace,
    in: clientOf,
    mergePatch: async () => {
      written.push(namespace)
      return { metadata: {} }
    },
  })
  const pool = poolOf()
  const deps = {
    kube: clientOf('home'),
    world: worldOf({ pool: { ...pool, metadata: { ...pool.metadata, namespace: 'team' } } }),
    leadership: { confirm: async () => ({ term: term.count }) },
    events: { record: () => undefined },
    metrics: createScaleMetrics(new Registry()),
    records: noRecords,
    logger: pino({ level: 'silent' }),
    memories: new Map(),
    turns: rolloutQueue({ max: 2, pools: () => [], nowMs: () => 0 }),
    term: () => term,
    refusedOf: () => [refused],
  } as unknown as Parameters<typeof reconcile>[0]
  await reconcile(deps, 'p', new AbortController().signal)
  expect(written).toEqual(['team'])
})

// Health of a pool in GitOps tools: kstatus (Flux, Helm) by its rules, and Argo CD by the Lua script in
// charts/matte/examples/gitops.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildCrd } from '@matte/controller/operator/pool/crd'
import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import {
  ago,
  canary,
  demand,
  loaded,
  now,
  pod,
  stable,
  status,
} from '@matte/controller/operator/pool/status/status.fixtures'
import { closedConditions } from '@matte/controller/operator/reconcile/closed-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LuaEngine, LuaFactory } from 'wasmoon'
import { parse } from 'yaml'
import { chartDir } from '../helm.ts'
import { type ConditionedObject, computeKstatus, type KubeStatus } from './kstatus.ts'

type Pool = ConditionedObject & { readonly status?: Partial<PoolStatus> }

const generation = 7
const pool = (of: Partial<PoolStatus>, metadata: object = {}): Pool => ({
  metadata: { generation, ...metadata },
  // As the API server returns it.
  status: JSON.parse(JSON.stringify(of)),
})

const time = now.toISOString()
const failed = { revision: canary, reason: 'CanaryErrorRate', message: '9 of 52 requests failed', time } as const
const young = [pod('a', { ready: false, createdAt: ago(4) })]
const unpullable = [pod('a', { ready: false, waiting: { reason: 'ErrImagePull', message: 'not found' } })]
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
const broken = (pods = unpullable) => status({ pods, models: [] })
/** Status of a pool whose fencing token is rejected. */
function closed(before: PoolStatus): PoolStatus {
  const written = { metadata: { name: 'pool', generation }, status: before }
  return { ...before, conditions: closedConditions(written, 'Deployment p refuses the fencing token.', now) }
}
const quota = { reason: 'FailedCreate', message: 'pods "a-2" is forbidden: exceeded quota: q' }

/** Status before the operator has written one. */
const unwritten: Partial<PoolStatus> =
  (buildCrd().spec.versions[0]?.schema.openAPIV3Schema.properties?.status?.default as Partial<PoolStatus>) ?? {}

const cases: readonly (readonly [string, Pool, KubeStatus, string])[] = [
  ['that was just created', pool(unwritten), 'InProgress', 'not reported on this version'],
  ['with only a new leader’s term', pool({ ...unwritten, leaderTerm: 3 }), 'InProgress', 'not reported'],
  ['whose first pod starts', pool(status({ pods: young, models: [] })), 'InProgress', '1 pod is starting'],
  ['whose image cannot be pulled', pool(broken()), 'InProgress', 'cannot pull the image'],
  [
    'whose image still cannot be pulled after readySeconds',
    pool(status({ pods: unpullable, models: [], previous: broken(), now: later(601) })),
    'Failed',
    'cannot pull the image',
  ],
  [
    'with a very slow start and no known problem',
    pool(status({ pods: young, models: [], previous: broken(), now: later(601) })),
    'InProgress',
    'Read its log',
  ],
  [
    'with a corrected image after a long failure to pull it',
    pool(status({ pods: unpullable, models: [], previous: broken(), now: later(601), rollout: { canary } })),
    'InProgress',
    'gets no requests until one of its pods is ready',
  ],
  ['that serves', pool(status()), 'Current', '1 pod serves requests'],
  ['at zero', pool(status({ pods: [], models: [], replicas: 0 })), 'Current', 'No requests wait'],
  [
    'that scales up',
    pool(status({ pods: [pod('a'), ...young.map((one) => ({ ...one, name: 'b' }))], replicas: 2 })),
    'Current',
    '1 of 2 pods serves requests',
  ],
  [
    'whose canary runs',
    pool(status({ rollout: { canary, step: 0, weight: 10 }, models: [loaded(), loaded(canary)] })),
    'InProgress',
    'gets 10 % of the requests',
  ],
  [
    'whose canary does not start',
    pool(
      status({
        pods: [pod('a'), ...unpullable.map((one) => ({ ...one, name: 'c', revision: canary }))],
        rollout: { canary },
      }),
    ),
    'InProgress',
    'does not become ready',
  ],
  ['with a new revision in spec that has not started yet', pool(status({ target: canary })), 'InProgress', ''],
  [
    'with a reverted spec',
    pool(status({ rollout: { canary, step: 1, weight: 50 }, target: stable, models: [loaded(), loaded(canary)] })),
    'InProgress',
    'Requests move back',
  ],
  [
    'while its canary is rolled back',
    pool(status({ rollout: { canary, failed, step: 1, weight: 50 }, models: [loaded(), loaded(canary)] })),
    'Failed',
    '9 of 52 requests failed',
  ],
  ['after the rollback', pool(status({ rollout: { failed } })), 'Failed', '9 of 52 requests failed'],
  [
    'at zero after a rollback',
    pool(status({ rollout: { failed }, pods: [], models: [], replicas: 0 })),
    'Failed',
    '9 of 52 requests failed',
  ],
  [
    'that tries another revision after the rollback',
    pool(status({ rollout: { canary: 'cccccccc', failed }, target: 'cccccccc' })),
    'InProgress',
    'gets no requests until one of its pods is ready',
  ],
  [
    'whose spec was corrected after a rollback, not yet observed',
    pool(status({ rollout: { failed } }), { generation: generation + 1 }),
    'InProgress',
    'not reported',
  ],
  [
    'that serves with fewer pods than desired',
    pool(status({ replicas: 2, deployments: [{ revision: stable, replicas: 2, replicaFailure: quota }] })),
    'Current',
    'refuses more',
  ],
  [
    'that serves while the database is away',
    pool(status({ demand: { ...demand, ageSeconds: 49 }, decision: { rule: 'fallback' } })),
    'Current',
    'The demand was last read at',
  ],
  ['that is closed', pool(closed(status())), 'Failed', 'refuses the fencing token'],
  [
    'that is closed while its canary runs',
    pool(closed(status({ rollout: { canary, step: 0, weight: 10 }, models: [loaded(), loaded(canary)] }))),
    'Failed',
    'refuses the fencing token',
  ],
  [
    'whose spec is changed while it is closed',
    pool(closed(status()), { generation: generation + 1 }),
    'InProgress',
    'not reported',
  ],
  ['that is deleted', pool(status(), { deletionTimestamp: time }), 'Terminating', 'being deleted'],
]

/** Argo CD's name of the status; undefined for an object that is being deleted. */
const argoOf: Readonly<Record<KubeStatus, string>> = {
  Current: 'Healthy',
  InProgress: 'Progressing',
  Failed: 'Degraded',
  Terminating: 'Progressing',
}

const { data } = parse(readFileSync(join(chartDir, 'examples/gitops/argocd-cm.yaml'), 'utf8'))
const health: string = data['resource.customizations.health.matte.dev_TritonPool']

describe('a pool', () => {
  let lua: LuaEngine
  beforeAll(async () => {
    lua = await new LuaFactory().createEngine({ enableProxy: false, injectObjects: false })
  })
  afterAll(() => lua?.global.close())

  it.each(cases)('%s has the expected health in kstatus and Argo CD', async (_what, object, expected, message) => {
    expect(computeKstatus(object)).toBe(expected)
    lua.global.set('obj', object)
    const answer = await lua.doString(health)
    expect(answer).toMatchObject({ status: argoOf[expected], message: expect.stringContaining(message) })
    expect(answer.message).not.toBe('')
  })

  it.each(cases)('%s has at most one of Reconciling and Stalled', (_what, { status: of }) => {
    const abnormal = (of?.conditions ?? []).filter(
      ({ type, status: value }) => (type === 'Reconciling' || type === 'Stalled') && value === 'True',
    )
    expect(abnormal.length).toBeLessThanOrEqual(1)
  })
})

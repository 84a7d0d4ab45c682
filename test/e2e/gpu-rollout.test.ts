// Pools of 1, 4 and 40 pods change their model under load on a node with exactly as many GPUs as pods: no task is lost,
// no attempt is used up, and at most one pod fewer is ready.
import type { Pod } from '@matte/controller/operator/kube/objects'
import type { PoolSpecInput, TritonPool } from '@matte/controller/operator/pool/triton-pool'
import { targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type Gpus, oneGpu, useGpus } from './support/gpus.ts'
import { countSucceeded, expectNothingLost, type Load, startLoad } from './support/load.ts'
import { isReady, reasonOf, useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'full'
const gate = { readySeconds: 30, minRequests: 3, maxLatencyRatio: 100 } as const
const steps = [{ weight: 50, durationSeconds: 1 }]
const sizes = [1, 4, 40]

describe('a pool that uses every GPU', () => {
  const operator = useOperator()
  let gpus: Gpus | undefined
  let receiver: Receiver
  let load: Load
  let spec: Partial<PoolSpecInput> = {}
  beforeAll(async () => {
    gpus = await useGpus(operator.cluster)
    receiver = await startReceiver()
    await operator.startController()
    load = await startLoad({ stack: operator.stack, receiver })
  })
  afterAll(async () => {
    await receiver.close()
    await gpus?.end()
  })

  /** Sets the pods of the pool, and the GPUs of the node. */
  async function resize(replicas: number): Promise<void> {
    await gpus?.set(replicas)
    const scaling = { owner: 'external' } as const
    spec = {
      ...spec,
      resources: oneGpu,
      replicas,
      scaling,
      drain: { routeStopSeconds: 1, exitTimeoutSeconds: 3, graceSeconds: 10 },
    }
    await operator.applyPool(name, spec)
    const isThere = ({ status }: TritonPool): boolean =>
      status?.readyReplicas === replicas && status.replicas === replicas
    await operator.untilPool(name, `has ${replicas} pods`, isThere, { timeoutMs: 300_000 })
  }

  let inputSize = 320
  /** Changes to a model with another input size; returns the revision that serves it. */
  async function changeModel(rollout: NonNullable<PoolSpecInput['rollout']>): Promise<string> {
    inputSize += 32
    const plain = await operator.pool(name)
    const { podPatch: _, ...bare } = plain.spec
    const podPatch = withEnvironment({ ...plain, spec: bare }, { FAKE_INPUT_SIZE: String(inputSize) })
    spec = { ...spec, rollout, podPatch }
    return targetRevision(await operator.applyPool(name, spec))
  }

  type Seen = { fewest: number; most: number }

  /** Waits until the revision is the only one; returns its observed pods. */
  async function untilReplaced(revision: string, onPass: (pool: TritonPool) => void = () => undefined): Promise<Seen> {
    const seen: Seen = { fewest: Number.POSITIVE_INFINITY, most: 0 }
    await until(
      `revision ${revision} has replaced the one before it`,
      async () => {
        const [pods, pool, made] = await Promise.all([
          operator.podsOf(name),
          operator.pool(name),
          operator.deploymentsOf(name),
        ])
        onPass(pool)
        seen.fewest = Math.min(seen.fewest, pods.filter(isReady).length)
        seen.most = Math.max(seen.most, pods.filter(holdsGpu).length)
        expect(pool.status?.rollout?.failed).toBeUndefined()
        const { stable, canary } = pool.status?.rollout ?? {}
        return stable === revision && canary === undefined && made.length === 1
      },
      { timeoutMs: 480_000, everyMs: 100 },
    )
    return seen
  }

  it('of one pod waits for a GPU, reports it, and continues when it may stop a pod', { timeout: 300_000 }, async () => {
    await resize(1)
    load.rate(4)
    const revision = await changeModel({ steps, gate })
    const { status } = await operator.untilPool(
      name,
      'says that there is no room',
      (pool) => reasonOf(pool, 'Progressing', 'False') === 'RolloutNoRoom',
    )
    const message = status?.conditions?.find(({ type }) => type === 'Ready')?.message
    print(`Ready: ${message}`)
    expect(message).toContain('maxUnavailable to 1')
    expect(status?.readyReplicas).toBe(1)
    expect(status?.rollout?.failed).toBeUndefined()
    spec = { ...spec, rollout: { steps, gate, maxUnavailable: 1 } }
    await operator.applyPool(name, spec)
    const { most } = await untilReplaced(revision)
    expect(most).toBeLessThanOrEqual(2)
  })

  it('of one pod is recreated; its tasks wait, and status shows since when', { timeout: 300_000 }, async () => {
    let gap: string | undefined
    const begun = performance.now()
    const revision = await changeModel({ strategy: 'Recreate', gate })
    const { most } = await untilReplaced(revision, ({ status }) => {
      if (status?.rollout?.unservedSince === undefined) return
      gap ??= status.conditions?.find(({ type, status: is }) => type === 'Ready' && is === 'False')?.message
    })
    print(`recreated in ${inSeconds(performance.now() - begun)}; Ready: ${gap}`)
    expect(gap).toMatch(/No pod has served since .*Z, .* about \d+ s/)
    expect(most).toBe(1)
    const done = await countSucceeded(operator.stack.db)
    await until('the new pod serves', async () => (await countSucceeded(operator.stack.db)) > done)
  })

  it.each(sizes)('of %d pods changes its model with at most one pod fewer', { timeout: 900_000 }, async (replicas) => {
    await resize(replicas)
    const begun = performance.now()
    const revision = await changeModel({ steps, gate, maxUnavailable: 1 })
    const { fewest, most } = await untilReplaced(revision)
    const took = inSeconds(performance.now() - begun)
    print(`${replicas} pods on ${replicas} GPUs: replaced in ${took}, at least ${fewest} ready, at most ${most} there`)
    expect(fewest).toBeGreaterThanOrEqual(replicas - 1)
    expect(most).toBeLessThanOrEqual(replicas + 1)
  })

  it('lost no task and no attempt', async () => {
    await load.stop()
    const { tasks } = await expectNothingLost({ stack: operator.stack, receiver, attempts: 'one' }, load)
    print(`${tasks} tasks: 0 lost, 0 twice, 0 failed, each in one attempt`)
  })
})

/** A pod with ended containers releases its GPU before its object is deleted. */
const holdsGpu = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed'

// A changed pool rolls out as a canary under load, while the leader is killed at every step. Revisions broken in three
// ways are then rolled back.
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProxiedRequest } from '../support/fault-proxy.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type Controller, freeLease, killController, startProxied } from './support/controllers.ts'
import { countSucceeded, expectNothingLost, type Load, startLoad } from './support/load.ts'
import { reasonOf, useOperator } from './support/operator.ts'
import { print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'canary'
const replicas = 4
const spec: Partial<PoolSpecInput> = {
  replicas,
  scaling: { owner: 'external' },
  rollout: {
    steps: [
      { weight: 10, durationSeconds: 1 },
      { weight: 50, durationSeconds: 1 },
    ],
    gate: { readySeconds: 120, maxErrorRate: 0.02, maxLatencyRatio: 100, minRequests: 5 },
  },
}
const round = (number: number) => ({ podPatch: { metadata: { annotations: { 'matte.dev/round': String(number) } } } })

describe('a canary', () => {
  const operator = useOperator()
  const stations: Station[] = []
  let receiver: Receiver
  let load: Load
  beforeAll(async () => {
    receiver = await startReceiver()
    stations.push(await startStation(), await startStation())
    await operator.applyPool(name, { ...spec, ...round(1) })
    await operator.untilPool(name, 'is at its size', ({ status }) => status?.readyReplicas === replicas)
    load = await startLoad({ stack: operator.stack, receiver })
    load.rate(8)
  })
  afterAll(async () => {
    await receiver.close()
    for (const { proxy } of stations) await proxy.close()
  })

  /** A controller that pauses after each write. */
  type Station = Controller & { write: ProxiedRequest | undefined; go: (() => void) | undefined; isPausing: boolean }

  async function startStation(): Promise<Station> {
    const station: Station = { ...(await startProxied(operator)), write: undefined, go: undefined, isPausing: false }
    let gate: Promise<void> | undefined
    station.proxy.onRequest(async (request) => {
      if (request.isWatch) return undefined
      await gate
      if (!station.isPausing || !isStep(request)) return undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      station.write = request
      station.go = resolve
      return undefined
    })
    return station
  }

  it('is promoted although the leader is killed at every step', async () => {
    const before = await operator.pool(name)
    const old = before.status?.rollout?.stable
    const wanted = targetRevision(await operator.applyPool(name, { ...spec, ...round(2) }))
    expect(wanted).not.toBe(old)
    for (const station of stations) station.isPausing = true
    const killedAt = new Set<string>()
    const isOver = async (): Promise<boolean> => {
      const { status } = await operator.pool(name)
      const made = await operator.deploymentsOf(name)
      return status?.rollout?.stable === wanted && status.rollout.canary === undefined && made.length === 1
    }
    for (;;) {
      const paused = await until(
        'the leader writes, or the rollout is over',
        async () => stations.find(({ write }) => write?.status !== undefined) ?? ((await isOver()) && 'over'),
        { timeoutMs: 180_000 },
      )
      if (paused === 'over') break
      const step = await describeStep(paused, wanted)
      if (killedAt.has(step)) {
        paused.write = undefined
        paused.go?.()
        continue
      }
      killedAt.add(step)
      print(`killed after ${step}`)
      stations.splice(stations.indexOf(paused), 1)
      await killController(paused)
      // Faster than waiting for the dead leader's Lease.
      await freeLease(operator.kube)
      const next = await startStation()
      next.isPausing = true
      stations.push(next)
    }
    for (const station of stations) {
      station.isPausing = false
      station.go?.()
    }
    const pool = await operator.untilPool(
      name,
      'is settled',
      (one) => reasonOf(one, 'Progressing', 'False') === 'Settled',
    )
    expect(pool.status?.rollout).toMatchObject({ stable: wanted, weight: 0 })
    expect(pool.status?.readyReplicas).toBe(replicas)
    expect(killedAt.size).toBeGreaterThan(6)
    print(`promoted ${old} → ${wanted} with the leader killed ${killedAt.size} times; ${load.ids.length} tasks so far`)
  })

  /** Description of the current step. */
  async function describeStep({ write }: Station, wanted: string): Promise<string> {
    const { method = '', url } = write ?? {}
    const path = url?.pathname ?? ''
    const whose = path.includes(wanted) ? 'the new revision' : 'the old revision'
    if (path.endsWith('/scale')) return `pods were asked of ${whose}`
    if (method === 'POST') return `making a ${path.split('/').at(-1)?.replace(/s$/, '')}`
    if (method === 'DELETE') return `deleting a ${path.split('/').at(-2)?.replace(/s$/, '')} of ${whose}`
    if (!path.includes('/tritonpools/')) return 'writing the fencing token to a Deployment'
    const { stable, canary, step, weight } = (await operator.pool(name)).status?.rollout ?? {}
    if (canary === undefined) return `status: ${stable === wanted ? 'promoted' : 'settled'}`
    return `status: step ${step}, ${weight} %`
  }

  for (const { defect, env, reason, state } of [
    {
      defect: 'answers every other request with an error',
      env: { FAKE_ERROR_RATE: '0.5' },
      reason: 'CanaryErrorRate',
    },
    {
      defect: 'has the wrong shapes',
      env: { FAKE_WRONG_SHAPES: 'true' },
      reason: 'CanaryLoadFailed',
      state: 'WrongShape',
    },
    {
      defect: 'does not load',
      env: { FAKE_FAIL_MODEL: 'u2netp' },
      reason: 'CanaryLoadFailed',
      state: 'FailedToLoad',
    },
  ]) {
    it(`that ${defect} is rolled back, and the old revision serves meanwhile`, async () => {
      const settled = await operator.pool(name)
      const serving = settled.status?.rollout?.stable
      // Limit for revisions that cannot load; pods starting on a busy machine need most of it.
      const gate = { ...spec.rollout?.gate, readySeconds: state === undefined ? 120 : 30 }
      const podPatch = withEnvironment(settled, env)
      const bad = targetRevision(
        await operator.applyPool(name, { ...spec, podPatch, rollout: { ...spec.rollout, gate } }),
      )
      if (state !== undefined) {
        const { status } = await operator.untilPool(name, 'shows the model as blocked', (pool) => {
          const [model] = pool.status?.models ?? []
          return model?.transition === 'BlockedByFailedLoad' && model.target.revision === bad
        })
        expect(status?.models?.[0]).toMatchObject({ active: { revision: serving, state: 'Loaded' }, target: { state } })
        print(`blocked: ${status?.models?.[0]?.lastFailure?.message}`)
        const done = await countSucceeded(operator.stack.db)
        await until('the old revision goes on', async () => (await countSucceeded(operator.stack.db)) > done + 10)
      }
      const { status } = await operator.untilPool(
        name,
        'rolls it back',
        (pool) => pool.status?.rollout?.failed?.revision === bad,
      )
      const rolledBack = await operator.untilPool(
        name,
        'has the condition',
        (pool) => reasonOf(pool, 'RolledBack') !== undefined,
      )
      expect(reasonOf(rolledBack, 'RolledBack')).toBe(reason)
      expect(status?.rollout).toMatchObject({ stable: serving, weight: 0 })
      await until('its pods are gone', async () => (await operator.deploymentsOf(name)).length === 1)
      print(`rolled back (${reason}): ${status?.rollout?.failed?.message}`)
    })
  }

  it('lost nothing', async () => {
    await load.stop()
    const { tasks, repeated } = await expectNothingLost({ stack: operator.stack, receiver, attempts: 'more' }, load)
    print(`${tasks} tasks: 0 lost, 0 twice, 0 failed; ${repeated} took more than one attempt`)
  })
})

/** Writes that advance a rollout: Deployments, Services, their pods, and the pool's status. */
const isStep = ({ method, url }: ProxiedRequest): boolean =>
  method !== 'GET' && /\/(deployments|services|tritonpools)(\/|$)/.test(url.pathname)

// A hundred pools with a thousand pods on simulated nodes: cost of the controller at this size, idle and with changing
// demand. The time of Kubernetes to create the pods is printed without a target.
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { finishTask } from '@matte/core/task/run/finish-task'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { claimNext, givenTask, givenWorkspace, success, type TestWorkspace } from '../support/factories.ts'
import type { TestProcess } from '../support/processes.ts'
import { reportSkip } from '../support/report/skips.ts'
import { until } from '../support/until.ts'
import { type Metrics, readMetrics } from './support/metrics.ts'
import { useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'
import { findKwok, type SimulatedNodes, startNodes } from './support/simulated-nodes.ts'
import { smallPool } from './support/small-pool.ts'

/** 20 in `make e2e`, 100 in `make e2e-full`. */
const poolCount = Number(process.env.E2E_POOLS ?? 20)
const podsPerPool = 10
const podCount = poolCount * podsPerPool
/** 0.25 s each, as assumed initially: more than a pool's pods can serve in 3 s. */
const burstRequests = 16
const minuteMs = 60_000

/**
 * Maximum cost of a minute: about twice the values in docs/operator-proof.md. The first of each pair is independent of
 * the number of pools (Lease and watches), the second is per pool.
 */
const idleMax = { requests: [60, 4], reconciles: [60, 90], cores: 0.5 } as const
const busyMax = { requests: [120, 50], reconciles: [60, 120], cores: 0.8 } as const
const memoryBytesMax = 1_073_741_824

const kwok = findKwok()
if (kwok === undefined) {
  reportSkip({ matching: 'test/e2e/size.test.ts', reason: 'there is no kwok in $PATH, and $KWOK names none' })
}

describe.skipIf(kwok === undefined)(`${podCount} pods in ${poolCount} pools`, () => {
  const operator = useOperator(['api'])
  let simulated: SimulatedNodes | undefined
  let controller: TestProcess
  let workspace: TestWorkspace
  beforeAll(async () => {
    const count = Math.ceil((podCount * 1.3) / 110)
    simulated = await startNodes(kwok ?? '', operator.cluster, { count, dir: inject('runDir') })
    controller = await operator.startController()
    workspace = await givenWorkspace(operator.stack.db)
  })
  afterAll(() => simulated?.end())

  const names = Array.from({ length: poolCount }, (_none, index) => `sim-${String(index).padStart(3, '0')}`)
  const specOf = (name: string): Partial<PoolSpecInput> => ({
    default: false,
    models: smallPool.models.map((model) => ({ ...model, modelVersion: name })),
    resources: { requests: { cpu: '10m', memory: '16Mi' } },
    slotsPerPod: 1,
    scaling: {
      minReplicas: podsPerPool,
      maxReplicas: podsPerPool + 2,
      stabilizationWindowSeconds: 5,
      panicWindowSeconds: 3,
      // A few requests must change the number of pods.
      target: { p95Seconds: 2, utilization: 0.1 },
    },
    ...simulated?.pool,
  })
  const readyCount = async (): Promise<number> => {
    const { items } = await operator.kube.list(tritonPools)
    return items.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0)
  }

  it('are created', { timeout: 1_800_000 }, async () => {
    const begun = performance.now()
    for (const name of names) await operator.applyPool(name, specOf(name), { 'matte.dev/simulated': 'true' })
    let printed = 0
    await until(
      'all pods are ready',
      async () => {
        const ready = await readyCount()
        if (ready >= printed + podCount / 4)
          print(`${ready} pods are ready after ${inSeconds(performance.now() - begun)}`)
        printed = Math.floor(ready / (podCount / 4)) * (podCount / 4)
        return ready >= podCount
      },
      { timeoutMs: 1_500_000, everyMs: 2_000 },
    )
    print(
      `${podCount} pods in ${poolCount} pools were ready ${inSeconds(performance.now() - begun)} ` +
        'after the first was asked for',
    )
  })

  it('cost little idle', async () => {
    await until('the pools are settled', async () => (await readyCount()) === podCount)
    const cost = await measureMinute(async () => undefined)
    print(`idle: ${cost.text}`)
    expectAtMost(cost, idleMax)
  })

  it('cost little while each pool’s demand changes', async () => {
    let bursts = 0
    const before = new Set(await listChanges())
    const cost = await measureMinute(async () => burst(names[bursts++ % poolCount] ?? ''))
    print(`busy: ${cost.text}`)
    const changes = (await listChanges()).filter((change) => !before.has(change)).length
    print(`${bursts} bursts of ${burstRequests} tasks, one after the other; pools changed their size ${changes} times`)
    expect(changes).toBeGreaterThan(bursts / 2)
    expectAtMost(cost, busyMax)
    const metrics = await readMetrics(controller)
    expect(metrics.sum('matte_pods_ready')).toBe(0)
    expect(controller.peakMemoryBytes()).toBeLessThan(memoryBytesMax)
    print(`memory ${megabytes(controller.peakMemoryBytes())} at most; no simulated pod was dialled`)
  })

  it('are taken over by another leader', async () => {
    const { leaderTerm: termBefore = Number.NaN } = (await operator.kube.get(tritonPools, names[0] ?? ''))?.status ?? {}
    await controller.stop()
    const next = await operator.startController()
    const { objects, ms, term } = await next.untilLogged('fencing tokens written')
    print(`the fencing tokens of the next leader: ${objects} objects in ${ms} ms`)
    // Deployments, Services, budgets and pools.
    expect(objects).toBe(4 * poolCount)
    expect(term).toBeGreaterThan(termBefore)
    await until('every pool is of the next term, and has been reconciled in it', async () => {
      const { items } = await operator.kube.list(tritonPools)
      const reconciled = (await readMetrics(next)).sum('matte_reconcile_total', { queue: 'pools' })
      return items.every(({ status }) => status?.leaderTerm === term) && reconciled >= poolCount
    })
    print(`requests to the API server until then: ${(await readMetrics(next)).sum('matte_kube_requests_total')}`)
    const before = new Set(await listChanges())
    await burst(names[0] ?? '')
    await until(
      'the next one has changed the size of a pool',
      async () => (await listChanges()).some((change) => !before.has(change)),
      { timeoutMs: 180_000, everyMs: 500 },
    )
  })

  /** Size changes in a pool's status, each with a unique name. */
  async function listChanges(): Promise<string[]> {
    const { items } = await operator.kube.list(tritonPools)
    return items.flatMap(({ metadata, status }) =>
      (status?.scalingHistory ?? []).map(({ time, from, to }) => `${metadata.name} ${time} ${from} ${to}`),
    )
  }

  /** Sends one pool many tasks at once; earlier tasks are finished by a fake worker. */
  async function burst(model: string): Promise<void> {
    const { db } = operator.stack
    for (let count = 0; count < 2 * burstRequests; count++) {
      const task = await claimNext(db, names)
      if (task === undefined) break
      await finishTask(db, task, success(task))
    }
    for (let count = 0; count < burstRequests; count++) await givenTask(db, workspace, { model })
  }

  async function measureMinute(act: () => Promise<void>): Promise<Cost> {
    const before = await readMetrics(controller)
    const begun = performance.now()
    await until(
      'a minute is over',
      async () => {
        await act()
        return performance.now() - begun >= minuteMs
      },
      // Each pool is used once in the minute.
      { timeoutMs: 2 * minuteMs, everyMs: minuteMs / poolCount },
    )
    const after = await readMetrics(controller)
    return costBetween(before, after, (performance.now() - begun) / minuteMs)
  }
})

/** Cost of one minute. */
type Cost = { readonly requests: number; readonly reconciles: number; readonly cores: number; readonly text: string }
type CostMax = Readonly<Record<'requests' | 'reconciles', readonly [fixed: number, perPool: number]>> & {
  readonly cores: number
}

function expectAtMost(cost: Cost, { requests, reconciles, cores }: CostMax): void {
  const max = ([fixed, perPool]: readonly [number, number]): number => fixed + perPool * poolCount
  expect(cost.requests).toBeGreaterThan(0) // else nothing was measured
  expect(cost.requests).toBeLessThan(max(requests))
  expect(cost.reconciles).toBeGreaterThan(0)
  expect(cost.reconciles).toBeLessThan(max(reconciles))
  expect(cost.cores).toBeLessThan(cores)
}

function costBetween(before: Metrics, after: Metrics, minutes: number): Cost {
  const rate = (name: string, labels = {}): number => (after.sum(name, labels) - before.sum(name, labels)) / minutes
  const verbs = [...new Set(after.samples('matte_kube_requests_total').map(({ labels }) => labels.verb ?? ''))]
  const byVerb = verbs.map((verb) => `${verb} ${rate('matte_kube_requests_total', { verb }).toFixed(0)}`)
  const quantiles = [0.5, 0.99].map((share) =>
    after.quantile('matte_reconcile_seconds', share, { queue: 'pools' }, before),
  )
  const [half = 0, most = 0] = quantiles
  const requests = rate('matte_kube_requests_total')
  const reconciles = rate('matte_reconcile_total', { queue: 'pools' })
  const cores = rate('process_cpu_seconds_total') / 60
  const text =
    `${requests.toFixed(0)} requests to the API server a minute (${byVerb.join(', ')}); ` +
    `${reconciles.toFixed(0)} reconciles a minute, half below ${half} s, 99 % below ${most} s; ` +
    `${cores.toFixed(2)} cores, ${megabytes(after.sum('process_resident_memory_bytes'))}`
  return { requests, reconciles, cores, text }
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`

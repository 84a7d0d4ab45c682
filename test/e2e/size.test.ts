// A hundred pools with a thousand pods on nodes that do not exist: what the controller costs at this size, idle and
// while the demand changes. How long Kubernetes takes to make so many pods is printed and has no target.
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { finishTask } from '@matte/core/task/run/finish-task'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { claimNext, givenTask, givenWorkspace, success, type TestWorkspace } from '../support/factories.ts'
import type { TestProcess } from '../support/processes.ts'
import { reportSkip } from '../support/skips.ts'
import { until } from '../support/until.ts'
import { type Metrics, readMetrics } from './support/metrics.ts'
import { smallPool, useOperator } from './support/operator.ts'
import { inSeconds, print } from './support/scenario.ts'
import { findKwok, type SimulatedNodes, startNodes } from './support/simulated-nodes.ts'

/** 20 in `make e2e`, 100 in `make e2e-full`. */
const poolCount = Number(process.env.E2E_POOLS ?? 20)
const podsPerPool = 10
const podCount = poolCount * podsPerPool
/** At 0.25 s each, as is assumed before any is done: more than the pods of a pool are to serve in 3 s. */
const burstRequests = 16
const minuteMs = 60_000

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
      // So that a few requests change the number of pods.
      target: { p95Seconds: 2, utilization: 0.1 },
    },
    ...simulated?.pool,
  })
  const readyCount = async (): Promise<number> => {
    const { items } = await operator.kube.list(tritonPools)
    return items.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0)
  }

  it('are made', { timeout: 1_800_000 }, async () => {
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
    print(`idle: ${await measureMinute(async () => undefined)}`)
  })

  it('cost little while the demand of each changes', async () => {
    let bursts = 0
    print(`busy: ${await measureMinute(async () => burst(names[bursts++ % poolCount] ?? ''))}`)
    const { items } = await operator.kube.list(tritonPools)
    const entries = items.flatMap(({ status }) => status?.scalingHistory ?? [])
    const changes = entries.length - poolCount
    print(`${bursts} bursts of ${burstRequests} tasks, one after the other; pools changed their size ${changes} times`)
    expect(changes).toBeGreaterThan(bursts / 2)
    const metrics = await readMetrics(controller)
    expect(metrics.sum('matte_pods_ready')).toBe(0)
    print(`memory ${megabytes(controller.peakMemoryBytes())} at most; no simulated pod was dialled`)
  })

  it('are taken over by another leader', async () => {
    await controller.stop()
    const next = await operator.startController()
    const { objects, ms } = await next.untilLogged('fencing tokens written')
    print(`the fencing tokens of the next leader: ${objects} objects in ${ms} ms`)
    // Deployments, Services and budgets, and the pools themselves.
    expect(objects).toBe(4 * poolCount)
    await until('every pool has been written by the next one', async () => {
      const { items } = await operator.kube.list(tritonPools)
      const [first] = items
      return items.every(({ status }) => status?.leaderTerm === first?.status?.leaderTerm && status?.conditions)
    })
    print(`requests to the API server until then: ${(await readMetrics(next)).sum('matte_kube_requests_total')}`)
  })

  /** One pool gets tasks all at once; the earlier ones are finished by a worker that is none of ours. */
  async function burst(model: string): Promise<void> {
    const { db } = operator.stack
    for (let count = 0; count < 2 * burstRequests; count++) {
      const task = await claimNext(db, names)
      if (task === undefined) break
      await finishTask(db, task, success(task))
    }
    for (let count = 0; count < burstRequests; count++) await givenTask(db, workspace, { model })
  }

  async function measureMinute(act: () => Promise<void>): Promise<string> {
    const before = await readMetrics(controller)
    const begun = performance.now()
    await until(
      'a minute is over',
      async () => {
        await act()
        return performance.now() - begun >= minuteMs
      },
      // Each pool has its turn once in the minute.
      { timeoutMs: 2 * minuteMs, everyMs: minuteMs / poolCount },
    )
    const after = await readMetrics(controller)
    return describeDifference(before, after, (performance.now() - begun) / minuteMs)
  }
})

function describeDifference(before: Metrics, after: Metrics, minutes: number): string {
  const rate = (name: string, labels = {}): number => (after.sum(name, labels) - before.sum(name, labels)) / minutes
  const verbs = [...new Set(after.samples('matte_kube_requests_total').map(({ labels }) => labels.verb ?? ''))]
  const byVerb = verbs.map((verb) => `${verb} ${rate('matte_kube_requests_total', { verb }).toFixed(0)}`)
  const quantiles = [0.5, 0.99].map((share) =>
    after.quantile('matte_reconcile_seconds', share, { queue: 'pools' }, before),
  )
  const [half = 0, most = 0] = quantiles
  const cores = rate('process_cpu_seconds_total') / 60
  return (
    `${rate('matte_kube_requests_total').toFixed(0)} requests to the API server a minute (${byVerb.join(', ')}); ` +
    `${rate('matte_reconcile_total', { queue: 'pools' }).toFixed(0)} reconciles a minute, half below ${half} s, ` +
    `99 % below ${most} s; ` +
    `${cores.toFixed(2)} cores, ${megabytes(after.sum('process_resident_memory_bytes'))}`
  )
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`

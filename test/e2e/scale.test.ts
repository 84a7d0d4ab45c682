// Scales from zero to one to several to zero under load, with real Triton pods and then with fakes. The output has the
// duration of each step.
import { deployments } from '@matte/controller/operator/kube/client'
import type { TritonPool } from '@matte/controller/operator/pool/triton-pool'
import { startPhases } from '@matte/controller/operator/reconcile/observe/start-phases'
import { beforeAll, describe, expect, it } from 'vitest'
import { greyPng, lemur } from '../support/photos.ts'
import type { TestProcess } from '../support/processes.ts'
import { submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { tritonImage } from './support/images.ts'
import { expectNothingLost, type Load, startLoad, untilNoneOpen } from './support/load.ts'
import { readMetrics } from './support/metrics.ts'
import { type Operator, useOperator } from './support/operator.ts'
import { inSeconds, median, print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'u2netp'
/** Target time from the response to POST until more pods are requested. */
const decisionMaxMs = 2_000
const wakes = 3

/** Pods requested from Kubernetes. */
async function askedOf({ kube }: Operator, pool: string): Promise<number> {
  const { items } = await kube.list(deployments, { labelSelector: `matte.dev/pool=${pool}` })
  return items.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0)
}

describe('a pool under load', () => {
  const operator = useOperator()
  let controller: TestProcess
  let load: Load
  beforeAll(async () => {
    controller = await operator.startController()
    await operator.applyPool(name, {
      image: tritonImage,
      // The configurations of this repository are complete.
      autoCompleteConfig: false,
      resources: { requests: { cpu: '100m', memory: '200Mi' } },
      scaling: { minReplicas: 0, maxReplicas: 3, stabilizationWindowSeconds: 5 },
    })
    load = await startLoad({ stack: operator.stack, bytes: lemur() })
  })

  const isAtZero = ({ status }: TritonPool): boolean => status?.desiredReplicas === 0 && status.replicas === 0
  const asked = () => askedOf(operator, name)

  it('wakes from zero within two seconds of a task, and returns to zero', async () => {
    const { client } = operator.stack
    const delays: number[] = []
    for (let round = 1; round <= wakes; round++) {
      await operator.untilPool(name, 'is at zero', isAtZero)
      const { id } = await submit(client, { bytes: lemur() })
      const created = performance.now()
      await until('a pod is asked for', async () => (await asked()) > 0, { everyMs: 20 })
      const delay = performance.now() - created
      delays.push(delay)
      await untilStatus(client, id, 'succeeded')
      const whole = performance.now() - created
      print(
        `wake ${round}: a pod was asked for ${inSeconds(delay)} after the answer to POST, ` +
          `the cut-out was there after ${inSeconds(whole)}`,
      )
    }
    print(
      `delay of the decision: median of ${wakes} ${inSeconds(median(delays))}, ` +
        `longest ${inSeconds(Math.max(...delays))}`,
    )
    expect(Math.max(...delays)).toBeLessThanOrEqual(decisionMaxMs)
    print(await phases())
  })

  it('scales with the load and to zero, and loses nothing', async () => {
    const { stack } = operator
    load.rate(4)
    const { status } = await operator.untilPool(
      name,
      'has more than one pod',
      (pool) => (pool.status?.readyReplicas ?? 0) > 1,
    )
    print(`grown to ${status?.readyReplicas} ready pods, ${status?.desiredReplicas} wanted`)
    await load.stop()
    const shrunk = await operator.untilPool(name, 'is at zero again', isAtZero, { timeoutMs: 300_000 })
    const { tasks } = await expectNothingLost({ stack }, load)
    print(`at zero again; ${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent`)
    for (const { time, from, to, rule, sentence, outcome, outcomeSeconds } of shrunk.status?.scalingHistory ?? []) {
      print(
        `  ${time} ${from} → ${to} ${rule}: ${sentence} ${outcome}` +
          (outcomeSeconds ? ` after ${outcomeSeconds} s` : ''),
      )
    }
    print(await phases())
  })

  /** Mean of each start phase so far, from the controller's metrics. */
  async function phases(): Promise<string> {
    const metrics = await readMetrics(controller)
    const metric = 'matte_pod_start_phase_seconds'
    const means = startPhases.map((phase) => {
      const seconds = metrics.sum(`${metric}_sum`, { phase }) / metrics.sum(`${metric}_count`, { phase })
      return `${phase} ${seconds.toFixed(2)} s`
    })
    return `start of a pod, mean of ${metrics.sum(`${metric}_count`, { phase: 'warm' })}: ${means.join(', ')}`
  }
})

describe('a pool that has pods', () => {
  const operator = useOperator()
  const grows = 'grows'
  /** Pods when the burst arrives. */
  const sizes = [1, 2, 3, 1, 2, 3]
  /** 0.5 s each, one at a time: more than a pod can do in the five seconds allowed for a backlog. */
  const requestsPerPod = 20
  let controller: TestProcess
  let podPatch: Record<string, unknown>
  beforeAll(async () => {
    // Before a controller runs, which would roll out a patch.
    podPatch = withEnvironment(await operator.applyPool(grows), { FAKE_SERVICE_MS: '500' })
    await operator.applyPool(grows, { podPatch, slotsPerPod: 1 })
    controller = await operator.startController()
  })

  it('requests more pods within two seconds of the tasks', async () => {
    const { client } = operator.stack
    const imageUrl = await client.upload(greyPng(64, 64))
    const delays: number[] = []
    for (const size of sizes) {
      const scaling = { minReplicas: size, maxReplicas: 6, stabilizationWindowSeconds: 3 }
      await operator.applyPool(grows, { podPatch, slotsPerPod: 1, scaling })
      await operator.untilPool(grows, `is idle with ${size}`, ({ metadata, status }) => {
        const { desiredReplicas, readyReplicas, replicas, rollout, observedGeneration } = status ?? {}
        const isSettled = rollout?.canary === undefined && observedGeneration === metadata.generation
        return isSettled && [desiredReplicas, readyReplicas, replicas].every((count) => count === size)
      })
      expect(await askedOf(operator, grows)).toBe(size)
      const answers = Array.from({ length: requestsPerPod * size }, () => client.createTask({ imageUrl }))
      // Measured from the first task, although only later ones exceed the pool's capacity.
      await Promise.race(answers)
      const answered = performance.now()
      const more = await until(
        'more pods are requested',
        async () => {
          const now = await askedOf(operator, grows)
          return now > size && now
        },
        { everyMs: 20 },
      )
      const delay = performance.now() - answered
      delays.push(delay)
      print(
        `${size} → ${more}: asked for ${inSeconds(delay)} after the first answer to a burst of ${answers.length} tasks`,
      )
      await Promise.all(answers)
      await untilNoneOpen(operator.stack.db)
    }
    const metrics = await readMetrics(controller)
    const reported = metrics.quantile('matte_scale_decision_delay_seconds', 0.5)
    print(
      `delay of the decision: median of ${delays.length} ${inSeconds(median(delays))}, longest ` +
        `${inSeconds(Math.max(...delays))}; by the controller's own metric half are below ${reported} s`,
    )
    expect(Math.max(...delays)).toBeLessThanOrEqual(decisionMaxMs)
  })
})

// Zero to one to several to zero, under load, with real Triton pods; how long each step took is told.
import { deployments } from '@matte/controller/kube/client'
import type { TritonPool } from '@matte/controller/pool/triton-pool'
import { startPhases } from '@matte/controller/start-phases'
import { beforeAll, describe, expect, it } from 'vitest'
import { lemur } from '../support/photos.ts'
import type { TestProcess } from '../support/processes.ts'
import { submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { tritonImage } from './support/images.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { readMetrics } from './support/metrics.ts'
import { useOperator } from './support/operator.ts'
import { inSeconds, median, tell } from './support/story.ts'

const name = 'u2netp'
/** From the answer to POST to the first higher number of pods asked for. */
const decisionMaxMs = 2_000
const wakes = 3

describe('a pool under load', () => {
  const operator = useOperator()
  let controller: TestProcess
  let load: Load
  beforeAll(async () => {
    controller = await operator.startController()
    await operator.applyPool(name, {
      image: tritonImage,
      resources: { requests: { cpu: '100m', memory: '200Mi' } },
      scaling: { minReplicas: 0, maxReplicas: 3, holdSeconds: 5 },
    })
    load = await startLoad({ stack: operator.stack, bytes: lemur() })
  })

  const isAtZero = ({ status }: TritonPool): boolean => status?.desiredReplicas === 0 && status.replicas === 0
  const asked = async (): Promise<number> => {
    const { items } = await operator.kube.list(deployments, { labelSelector: `matte.dev/pool=${name}` })
    return items.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0)
  }

  it('wakes from zero within two seconds of a task, and goes back', async () => {
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
      tell(
        `wake ${round}: a pod was asked for ${inSeconds(delay)} after the answer to POST, the cut-out was there after ${inSeconds(whole)}`,
      )
    }
    tell(
      `delay of the decision: median of ${wakes} ${inSeconds(median(delays))}, longest ${inSeconds(Math.max(...delays))}`,
    )
    expect(Math.max(...delays)).toBeLessThanOrEqual(decisionMaxMs)
    tell(await phases())
  })

  it('grows with what arrives, shrinks to zero, and loses nothing', async () => {
    const { stack } = operator
    load.rate(4)
    const { status } = await operator.untilPool(
      name,
      'has more than one pod',
      (pool) => (pool.status?.readyReplicas ?? 0) > 1,
    )
    tell(`grown to ${status?.readyReplicas} ready pods, ${status?.desiredReplicas} wanted`)
    await load.stop()
    const shrunk = await operator.untilPool(name, 'is at zero again', isAtZero, { timeoutMs: 300_000 })
    const { tasks } = await expectNothingLost({ stack }, load)
    tell(`at zero again; ${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent`)
    for (const { time, from, to, rule, sentence, outcome, outcomeSeconds } of shrunk.status?.scalingHistory ?? []) {
      tell(
        `  ${time} ${from} → ${to} ${rule}: ${sentence} ${outcome}${outcomeSeconds ? ` after ${outcomeSeconds} s` : ''}`,
      )
    }
    tell(await phases())
  })

  /** The mean of each phase of the starts so far, as the controller's own metric has them. */
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

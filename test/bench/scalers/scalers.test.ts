import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contestants } from './contestants.ts'
import { makeLiveTrace, step } from './live-trace.ts'
import { summarize } from './run-live.ts'
import { simulate } from './simulate.ts'

describe('pods of a run', () => {
  const pod = { name: 'p', pool: 'one' }
  const [begun, ended] = [10_000, 110_000]

  it('count from their creation until they are gone, within the trace', () => {
    const before = { ...pod, createdAt: 0, readyAt: 3_000, goneAt: 30_000, served: 4 }
    const after = { ...pod, createdAt: 100_000, readyAt: 105_000, served: 0 }
    expect(summarize([before, after], begun, ended)).toEqual({
      podSeconds: 30,
      podsAtBegin: 1,
      podsStarted: 1,
      podsThrownAway: 0,
      startSeconds: 3,
    })
  })

  it('are thrown away if they were removed before they served', () => {
    const removed = { ...pod, createdAt: 20_000, goneAt: 30_000, served: 0 }
    const useful = { ...removed, readyAt: 21_000, served: 1 }
    expect(summarize([removed, useful], begun, ended)).toMatchObject({ podsStarted: 2, podsThrownAway: 1 })
  })

  it('that were gone before the trace do not count', () => {
    const early = { ...pod, createdAt: 0, goneAt: 9_000, served: 0 }
    expect(summarize([early], begun, ended)).toMatchObject({ podSeconds: 0, podsThrownAway: 0 })
  })
})

describe('the loads', () => {
  it('are the same for the same seed', () => {
    expect(makeLiveTrace('bursts', 2)).toEqual(makeLiveTrace('bursts', 2))
    expect(makeLiveTrace('bursts', 2).arrivals).not.toEqual(makeLiveTrace('bursts', 3).arrivals)
  })

  it('are those of the simulator at a quarter of the rate', () => {
    const { rates } = makeLiveTrace('step', 1)
    expect([step.up - 1, step.up, step.down - 1, step.down].map((second) => rates[second])).toEqual([0.25, 4, 4, 0.25])
  })
})

describe('KEDA on wantedPods', () => {
  it('has the trigger of the published example', () => {
    const file = join(rootDir, 'charts/matte/examples/external-scaler/keda.yaml')
    const example = parse(readFileSync(file, 'utf8'))
    const ours = contestants['keda-prometheus'].scaledObject?.({
      namespace: 'matte',
      pool: 'portraits',
      prometheusUrl: example.spec.triggers[0].metadata.serverAddress,
      natsMonitor: '',
      mirror: { stream: '', consumer: '' },
      startSeconds: 20,
    }) as typeof example.spec
    for (const field of ['pollingInterval', 'fallback', 'triggers']) expect(ours[field]).toEqual(example.spec[field])
    const { scaleDown } = ours.advanced.horizontalPodAutoscalerConfig.behavior
    expect(scaleDown).toEqual(example.spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown)
  })
})

describe('the simulation of a run', () => {
  it('gives a scaler more misses on the step if its pods start later, or requests take longer outside their slot', () => {
    const trace = makeLiveTrace('step', 1)
    const missed = (startSeconds: number, overheadSeconds = 0) =>
      simulate('matte', trace, { startSeconds, slotSeconds: 0.5, overheadSeconds, pods: 1, syncSeconds: 15 }).missed
        .mean
    expect(missed(20)).toBeGreaterThan(missed(3))
    expect(missed(3, 0.4)).toBeGreaterThan(missed(3))
  })

  it("has a range for an autoscaler, which depends on the phase of the autoscaler's period", () => {
    const trace = makeLiveTrace('step', 1)
    const times = { startSeconds: 3, slotSeconds: 0.5, overheadSeconds: 0.1, pods: 1, syncSeconds: 15 }
    const { least, mean, most } = simulate('keda-jetstream', trace, times).podSeconds
    expect(most).toBeGreaterThan(2 * least)
    expect(mean).toBeGreaterThan(least)
    expect(mean).toBeLessThan(most)
  })
})

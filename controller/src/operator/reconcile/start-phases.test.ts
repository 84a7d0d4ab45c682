import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../kube/objects.ts'
import { startPhaseRecorder } from './start-phases.ts'

function recorder() {
  let ms = 0
  const registry = new Registry()
  const starts: string[] = []
  const phases = startPhaseRecorder({
    registry,
    tells: () => true,
    ready: (pool, seconds) => starts.push(`${pool} ${seconds}`),
    clock: { monotonicMs: () => ms, nowMs: () => 1_000 + ms },
  })
  const told = async () => {
    const { values } = (await registry.getSingleMetric('matte_pod_start_phase_seconds')?.get()) ?? { values: [] }
    const sums = values.filter(
      (value) => 'metricName' in value && `${value.metricName}`.endsWith('_sum') && value.value > 0,
    )
    return Object.fromEntries(sums.map(({ labels, value }) => [(labels as { phase: string }).phase, value]))
  }
  const at = (seconds: number): void => {
    ms = seconds * 1_000
  }
  return { phases, starts, told, at }
}

const container = { name: 'triton', ready: false, restartCount: 0 }
const scheduled = { type: 'PodScheduled', status: 'True' as const }
const pod = (status: Pod['status'] = {}, made = 1_000): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', uid: 'u', creationTimestamp: new Date(made).toISOString(), labels: { 'matte.dev/pool': 'p' } },
  spec: { containers: [] },
  status,
})
const running = { ...container, state: { running: {} } }
const isReady = { conditions: [scheduled, { type: 'Ready', status: 'True' as const }] }

describe('the phases of a start', () => {
  it('are measured from one to the next, and the whole of it up to ready', async () => {
    const { phases, starts, told, at } = recorder()
    phases.see('a', pod())
    at(1)
    phases.see('a', pod({ conditions: [scheduled] }))
    at(3)
    phases.see('a', pod({ conditions: [scheduled], containerStatuses: [running] }))
    at(6)
    phases.see('a', pod({ conditions: [scheduled], containerStatuses: [{ ...running, started: true }] }))
    at(10)
    phases.see('a', pod({ ...isReady, containerStatuses: [{ ...running, started: true }] }))
    at(15)
    phases.seeWarm(new Set(['a']))
    expect(await told()).toEqual({ scheduled: 1, pulled: 2, started: 3, loaded: 4, warm: 5 })
    expect(starts).toEqual(['p 10'])
  })

  it('are not told of a pod whose beginning was not seen, or that was started again', async () => {
    const { phases, starts, at } = recorder()
    phases.see('a', pod({ conditions: [scheduled] }))
    at(1)
    phases.see('a', pod(isReady))
    phases.see('b', pod({}, -60_000))
    phases.see('b', pod(isReady, -60_000))
    phases.see('c', pod())
    phases.see('c', pod({ containerStatuses: [{ ...running, restartCount: 1 }] }))
    phases.see('c', pod(isReady))
    expect(starts).toEqual([])
  })

  it('are forgotten with their pod', async () => {
    const { phases, starts } = recorder()
    phases.see('a', pod())
    phases.see('a', undefined)
    phases.see('a', pod({ conditions: [scheduled] }))
    phases.see('a', pod(isReady))
    expect(starts).toEqual([])
  })
})

import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../kube/objects.ts'
import { startPhaseRecorder } from './start-phases.ts'

function recorder() {
  let ms = 0
  const registry = new Registry()
  const starts: string[] = []
  const phases = startPhaseRecorder({
    registry,
    reports: () => true,
    ready: (pool, seconds) => starts.push(`${pool} ${seconds}`),
    clock: { monotonicMs: () => ms, nowMs: () => 1_000 + ms },
  })
  const reported = async () => {
    const { values } = (await registry.getSingleMetric('matte_pod_start_phase_seconds')?.get()) ?? { values: [] }
    const sums = values.filter(
      (value) => 'metricName' in value && `${value.metricName}`.endsWith('_sum') && value.value > 0,
    )
    return Object.fromEntries(sums.map(({ labels, value }) => [(labels as { phase: string }).phase, value]))
  }
  const at = (seconds: number): void => {
    ms = seconds * 1_000
  }
  return { phases, starts, reported, at }
}

const container = { name: 'triton', ready: false, restartCount: 0 }
const scheduled = { type: 'PodScheduled', status: 'True' as const }
const pod = (status: Pod['status'] = {}, made = 1_000): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', uid: 'u', creationTimestamp: new Date(made).toISOString(), labels: { 'matte.dev/pool': 'p' } },
  spec: {},
  status,
})
const running = { ...container, state: { running: {} } }
const isReady = { conditions: [scheduled, { type: 'Ready', status: 'True' as const }] }

describe('the phases of a start', () => {
  it('are measured one by one, and in total until ready', async () => {
    const { phases, starts, reported, at } = recorder()
    phases.observe('a', pod())
    at(1)
    phases.observe('a', pod({ conditions: [scheduled] }))
    at(3)
    phases.observe('a', pod({ conditions: [scheduled], containerStatuses: [running] }))
    at(6)
    phases.observe('a', pod({ conditions: [scheduled], containerStatuses: [{ ...running, started: true }] }))
    at(10)
    phases.observe('a', pod({ ...isReady, containerStatuses: [{ ...running, started: true }] }))
    at(15)
    phases.observeWarm(new Set(['a']))
    expect(await reported()).toEqual({ scheduled: 1, pulled: 2, started: 3, loaded: 4, warm: 5 })
    expect(starts).toEqual(['p 10'])
  })

  it('are not measured for a pod with an unobserved creation or a restart', async () => {
    const { phases, starts, at } = recorder()
    phases.observe('a', pod({ conditions: [scheduled] }))
    at(1)
    phases.observe('a', pod(isReady))
    phases.observe('b', pod({}, -60_000))
    phases.observe('b', pod(isReady, -60_000))
    phases.observe('c', pod())
    phases.observe('c', pod({ containerStatuses: [{ ...running, restartCount: 1 }] }))
    phases.observe('c', pod(isReady))
    expect(starts).toEqual([])
  })

  it('are forgotten with the pod', async () => {
    const { phases, starts } = recorder()
    phases.observe('a', pod())
    phases.observe('a', undefined)
    phases.observe('a', pod({ conditions: [scheduled] }))
    phases.observe('a', pod(isReady))
    expect(starts).toEqual([])
  })
})

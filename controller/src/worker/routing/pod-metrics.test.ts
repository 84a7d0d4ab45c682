import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createPodMetrics, registerPodGauges } from './pod-metrics.ts'
import { pod } from './pod-picker.fixtures.ts'
import type { PodPicker } from './pod-picker.ts'
import type { PodSource } from './pod-source.ts'

function given() {
  const registry = new Registry()
  const counted = async (): Promise<string[]> =>
    [...(await registry.metrics()).matchAll(/^matte_(\S+) 1$/gm)].map(([, sample = '']) => sample)
  return { metrics: createPodMetrics(registry), counted }
}

it.each([
  ['unavailable', 'unreachable'],
  ['timeout', 'timeout'],
  ['failed', 'other'],
] as const)(
  'an inference that ended as %s is an error of Triton by %s, and its ejection none more',
  async (kind, reason) => {
    const { metrics, counted } = given()
    metrics.inferenceFailed(kind)
    metrics.ejected(kind)
    expect((await counted()).sort()).toEqual([
      `dependency_errors_total{dependency="triton",reason="${reason}"}`,
      `pod_ejections_total{reason="${kind}"}`,
      `stream_errors_total{kind="${kind}"}`,
    ])
  },
)

it('the views of each model that a pod serves are shown, and gone with the pods', async () => {
  const registry = new Registry()
  let pods = [
    pod('a', 1, { shape: { inputSize: 320, slots: 1, views: 2 } }),
    pod('a', 1, { pool: 'fine', tritonModel: 'isnet' }),
  ]
  const source = { pods: () => pods } as unknown as PodSource
  registerPodGauges(registry, source, { slotsByRevision: () => [] } as unknown as PodPicker)
  const shown = async (): Promise<unknown> =>
    (await registry.getMetricsAsJSON()).find(({ name }) => name === 'matte_model_views')?.values
  expect(await shown()).toEqual([
    { labels: { pool: 'standard', revision: 'a', model: 'u2netp' }, value: 2 },
    { labels: { pool: 'fine', revision: 'a', model: 'isnet' }, value: 1 },
  ])
  pods = []
  expect(await shown()).toEqual([])
})

it('a pod that a probe found unready is an error without an inference', async () => {
  const { metrics, counted } = given()
  metrics.ejected('unready')
  expect((await counted()).sort()).toEqual([
    'dependency_errors_total{dependency="triton",reason="unreachable"}',
    'pod_ejections_total{reason="unready"}',
  ])
})

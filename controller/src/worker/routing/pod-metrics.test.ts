import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createPodMetrics, registerPodGauges } from './pod-metrics.ts'
import type { PodPicker } from './pod-picker.ts'
import type { Pod, PodSource } from './pod-source.ts'

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
  'an inference that ended as %s counts as one error of Triton (%s); its ejection adds none',
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

it('a pod that a probe found unready is an error without an inference', async () => {
  const { metrics, counted } = given()
  metrics.ejected('unready')
  expect((await counted()).sort()).toEqual([
    'dependency_errors_total{dependency="triton",reason="unreachable"}',
    'pod_ejections_total{reason="unready"}',
  ])
})

it('pods are counted by form and views of their model', async () => {
  const registry = new Registry()
  const pod = (name: string, shape: Partial<Pod['shape']>) =>
    ({ address: name, pool: 'standard', tritonModel: 'u2netp', shape: { views: 1, ...shape } }) as Pod
  let known = [
    pod('a', { form: 'int8' }),
    pod('b', { form: 'fp32' }),
    pod('c', { form: 'int8' }),
    pod('d', { views: 2 }),
  ]
  // The gauges use nothing else of the source and the picker.
  const source = { pods: () => known } as unknown as PodSource // metrics use nothing else
  registerPodGauges(registry, source, { slotsByRevision: () => [] } as unknown as PodPicker)
  const counted = async () =>
    [...(await registry.metrics()).matchAll(/^matte_model_pods\{(.*)\} (\d+)$/gm)].map(([, labels, value]) => [
      labels,
      value,
    ])
  expect(await counted()).toEqual([
    ['pool="standard",model="u2netp",form="int8",views="1"', '2'],
    ['pool="standard",model="u2netp",form="fp32",views="1"', '1'],
    ['pool="standard",model="u2netp",form="unknown",views="2"', '1'],
  ])
  known = [pod('b', { form: 'fp32' })]
  expect(await counted()).toEqual([['pool="standard",model="u2netp",form="fp32",views="1"', '1']])
})

import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createPodMetrics } from './pod-metrics.ts'

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

it('a pod that a probe found unready is an error without an inference', async () => {
  const { metrics, counted } = given()
  metrics.ejected('unready')
  expect((await counted()).sort()).toEqual([
    'dependency_errors_total{dependency="triton",reason="unreachable"}',
    'pod_ejections_total{reason="unready"}',
  ])
})

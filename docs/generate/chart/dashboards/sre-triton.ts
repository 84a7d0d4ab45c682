// The row of the SRE dashboard about Triton's own metrics, which the chart's monitors read from the pods of all
// pools. The monitors set the labels pool and revision.
import type { Panel, Row } from './panel.ts'
import { perSecond } from './rates.ts'
import { worseFrom } from './thresholds.ts'

const secondsOf = (counter: string): string =>
  `${perSecond(counter, 'pool')} / 1000000 / ${perSecond('nv_inference_request_success', 'pool')}`

const ofTriton = (emptyBecause: string, panels: readonly Omit<Panel, 'needs' | 'emptyBecause'>[]): readonly Panel[] =>
  panels.map((panel) => ({ ...panel, needs: 'pools', emptyBecause }))

export const triton: Row = {
  title: 'Triton',
  panels: [
    ...ofTriton('only the monitors of the chart have Prometheus read Triton', [
      {
        title: 'Request time in Triton',
        sentence: 'Mean time in the queue and in the model. There are too few pods if the queue takes longer.',
        kind: 'lines',
        unit: 's',
        queries: [
          { expr: secondsOf('nv_inference_queue_duration_us'), legend: '{{pool}} queue' },
          { expr: secondsOf('nv_inference_compute_infer_duration_us'), legend: '{{pool}} model' },
        ],
      },
      {
        title: 'Requests of Triton, by revision',
        sentence: "Successes and failures counted by Triton, including the operator's probes.",
        kind: 'lines',
        unit: 'ops',
        queries: [
          { expr: perSecond('nv_inference_request_success', 'pool, revision'), legend: '{{pool}} {{revision}}' },
          { expr: perSecond('nv_inference_request_failure', 'pool, reason'), legend: '{{pool}} failed: {{reason}}' },
        ],
      },
      {
        title: 'Requests waiting in Triton',
        sentence: 'Accepted by a pod and not started.',
        kind: 'lines',
        unit: 'none',
        queries: [{ expr: 'sum by (pool) (nv_inference_pending_request_count{})', legend: '{{pool}}' }],
      },
    ]),
    ...ofTriton('a pool on the CPU has no GPU', [
      {
        title: 'GPU utilization',
        sentence: 'Mean over the pods of a pool. If it is low with a queue, batch size or CPU is the limit.',
        kind: 'lines',
        unit: 'percentunit',
        queries: [{ expr: 'avg by (pool) (nv_gpu_utilization{})', legend: '{{pool}}' }],
      },
      {
        title: 'GPU memory, maximum',
        sentence: 'Highest share of GPU memory, by pool. At 1 a model cannot load.',
        kind: 'lines',
        unit: 'percentunit',
        thresholds: worseFrom(0.9, 0.98),
        queries: [
          {
            expr: 'max by (pool) (nv_gpu_memory_used_bytes{} / nv_gpu_memory_total_bytes{})',
            legend: '{{pool}}',
          },
        ],
      },
    ]),
  ],
}

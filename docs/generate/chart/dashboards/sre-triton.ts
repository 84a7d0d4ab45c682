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
  title: 'Triton: what do its pods report?',
  panels: [
    ...ofTriton('only the monitors of the chart have Prometheus read Triton', [
      {
        title: 'Time of a request in Triton',
        sentence: 'Mean time in the queue and in the model. A queue longer than the model takes: pods are too few.',
        kind: 'lines',
        unit: 's',
        queries: [
          { expr: secondsOf('nv_inference_queue_duration_us'), legend: '{{pool}} queue' },
          { expr: secondsOf('nv_inference_compute_infer_duration_us'), legend: '{{pool}} model' },
        ],
      },
      {
        title: 'Requests of Triton, by revision',
        sentence: 'Successes and failures as Triton counts them, probes of the operator included.',
        kind: 'lines',
        unit: 'ops',
        queries: [
          { expr: perSecond('nv_inference_request_success', 'pool, revision'), legend: '{{pool}} {{revision}}' },
          { expr: perSecond('nv_inference_request_failure', 'pool, reason'), legend: '{{pool}} failed: {{reason}}' },
        ],
      },
      {
        title: 'Requests that wait in Triton',
        sentence: 'Accepted by a pod and not begun.',
        kind: 'lines',
        unit: 'none',
        queries: [{ expr: 'sum by (pool) (nv_inference_pending_request_count{})', legend: '{{pool}}' }],
      },
    ]),
    ...ofTriton('a pool on the CPU has no GPU', [
      {
        title: 'Use of the GPUs',
        sentence: 'Mean over the pods of a pool. Low with a queue: the batch or the processor limits, not the GPU.',
        kind: 'lines',
        unit: 'percentunit',
        queries: [{ expr: 'avg by (pool) (nv_gpu_utilization{})', legend: '{{pool}}' }],
      },
      {
        title: 'Memory of the fullest GPU',
        sentence: 'Share of the memory of the GPU, by pool. At 1 a model does not load.',
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

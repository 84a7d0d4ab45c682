import { counter, gauge } from '@matte/core/runtime/metrics/define'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { type InferenceError, inferenceErrorKinds } from '../triton/inference-error.ts'
import { modelForms } from '../triton/model-shape.ts'
import type { PodPicker } from './pod-picker.ts'
import { ejectionReasons } from './pod-probation.ts'
import type { PodSource } from './pod-source.ts'

export const podMetrics = {
  ejections: counter({
    name: 'matte_pod_ejections_total',
    reader: 'alert',
    help:
      'Pods ejected by this process, after an inference timed out, was refused or failed repeatedly, ' +
      'or after a probe found the pod unready.',
    labels: { reason: ejectionReasons },
  }),
  streamErrors: counter({
    name: 'matte_stream_errors_total',
    reader: 'alert',
    help:
      'Inferences that ended without a mask: unavailable (no connection to the pod), ' +
      'failed (the pod returned an error), timeout.',
    labels: { kind: inferenceErrorKinds },
  }),
  ready: gauge({
    name: 'matte_pods_ready',
    reader: 'saturation',
    help: 'Pods that this process can send requests to.',
  }),
  modelPods: gauge({
    name: 'matte_model_pods',
    help:
      'Pods that this process can send requests to, by the number format that the model has on their node ' +
      'and by the views that it needs.',
    labels: {
      pool: 'names of the TritonPools, or of the models of MODELS_STATIC',
      model: 'names of the models in Triton',
      form: [...modelForms, 'unknown'],
      views: ['1', '2'],
    },
    joinedBy: 'max',
  }),
  slotsUsed: gauge({
    name: 'matte_pod_slots_used',
    help: 'Pod slots in use by this process, per pool and revision (not per pod: there may be a thousand).',
    labels: {
      pool: 'names of the TritonPools, or of the models of MODELS_STATIC',
      revision: 'revisions that have a pod, or `static`',
    },
  }),
}

export type PodMetrics = ReturnType<typeof createPodMetrics>

const dependencyReasons = { unavailable: 'unreachable', timeout: 'timeout', failed: 'other' } as const

export function createPodMetrics(registry: Registry, edges = createEdgeMetrics(registry, ['triton'])) {
  const ejections = podMetrics.ejections.register(registry)
  const streamErrors = podMetrics.streamErrors.register(registry)
  return {
    ejected: (reason: (typeof ejectionReasons)[number]): void => {
      ejections.inc({ reason })
      // The other reasons are counted with the failed inference.
      if (reason === 'unready') edges.count('triton', 'unreachable')
    },
    inferenceFailed: (kind: InferenceError['kind']): void => {
      streamErrors.inc({ kind })
      edges.count('triton', dependencyReasons[kind])
    },
  }
}

export function registerPodGauges(registry: Registry, source: PodSource, picker: PodPicker): void {
  podMetrics.ready.register(registry, (metric) => metric.set(new Set(source.pods().map(({ address }) => address)).size))
  podMetrics.modelPods.register(registry, (metric) => {
    metric.reset()
    for (const { pool, tritonModel, shape } of source.pods()) {
      metric.inc({ pool, model: tritonModel, form: shape.form ?? 'unknown', views: String(shape.views) })
    }
  })
  podMetrics.slotsUsed.register(registry, (metric) => {
    metric.reset()
    for (const { pool, revision, slots } of picker.slotsByRevision()) metric.set({ pool, revision }, slots)
  })
}

import { counter, gauge } from '@matte/core/runtime/metrics/define'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { type InferenceError, inferenceErrorKinds } from '../triton/inference-error.ts'
import { modelForms } from '../triton/model-properties.ts'
import type { PodPicker } from './pod-picker.ts'
import { ejectionReasons } from './pod-probation.ts'
import type { PodSource } from './pod-source.ts'

/** All of this file; docs/metrics.md lists them. */
export const podMetrics = {
  ejections: counter({
    name: 'matte_pod_ejections_total',
    reader: 'alert',
    help:
      'Pods taken out of rotation by this process: inferences that timed out, were refused or failed in a row, ' +
      'or a probe that found the pod unready.',
    labels: { reason: ejectionReasons },
  }),
  streamErrors: counter({
    name: 'matte_stream_errors_total',
    reader: 'alert',
    help:
      'Inferences that ended without a mask: unavailable (the pod was gone), ' +
      'failed (it answered an error), timeout.',
    labels: { kind: inferenceErrorKinds },
  }),
  ready: gauge({
    name: 'matte_pods_ready',
    reader: 'saturation',
    help: 'Pods that this process may send to.',
  }),
  modelPods: gauge({
    name: 'matte_model_pods',
    help:
      'Pods that this process may send to, by what they report of the model that they serve: the form of its ' +
      'numbers, which goes by the processor of the node, and the views that are asked of it.',
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
    help:
      'Slots of pods that this process has requests in, by pool and revision; ' +
      'not by pod, of which there may be a thousand.',
    labels: {
      pool: 'names of the TritonPools, or of the models of MODELS_STATIC',
      revision: 'revisions that have a pod, or `static`',
    },
  }),
}

export type PodMetrics = ReturnType<typeof createPodMetrics>

const dependencyReasons = { unavailable: 'unreachable', timeout: 'timeout', failed: 'other' } as const

/** `edges`: those of the process, where it has them already. */
export function createPodMetrics(registry: Registry, edges = createEdgeMetrics(registry, ['triton'])) {
  const ejections = podMetrics.ejections.register(registry)
  const streamErrors = podMetrics.streamErrors.register(registry)
  return {
    ejected: (reason: (typeof ejectionReasons)[number]): void => {
      ejections.inc({ reason })
      // The others are counted as the inference that failed.
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

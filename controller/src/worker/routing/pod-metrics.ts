import { Counter, Gauge, type Registry } from 'prom-client'
import type { PodPicker } from './pod-picker.ts'
import { ejectionReasons } from './pod-probation.ts'
import type { PodSource } from './pod-source.ts'

export type PodMetrics = ReturnType<typeof createPodMetrics>

export function createPodMetrics(registry: Registry) {
  const registers = [registry]
  const metrics = {
    ejections: new Counter({
      name: 'matte_pod_ejections_total',
      help:
        'Pods taken out of rotation by this process: inferences that timed out, were refused or failed in a row, ' +
        'or a probe that found the pod unready',
      labelNames: ['reason'],
      registers,
    }),
    streamErrors: new Counter({
      name: 'matte_stream_errors_total',
      help:
        'Inferences that ended without a mask: unavailable (the pod was gone), ' +
        'failed (it answered an error), timeout',
      labelNames: ['kind'],
      registers,
    }),
  }
  for (const reason of ejectionReasons) metrics.ejections.inc({ reason }, 0)
  for (const kind of ['unavailable', 'failed', 'timeout']) metrics.streamErrors.inc({ kind }, 0)
  return metrics
}

export function registerPodGauges(registry: Registry, source: PodSource, picker: PodPicker): void {
  const registers = [registry]
  new Gauge({
    name: 'matte_pods_ready',
    help: 'Pods that this process may send to',
    registers,
    collect() {
      this.set(new Set(source.pods().map(({ address }) => address)).size)
    },
  })
  new Gauge({
    name: 'matte_pod_slots_used',
    help:
      'Slots of pods that this process has requests in, by pool and revision; ' +
      'not by pod, of which there may be a thousand',
    labelNames: ['pool', 'revision'],
    registers,
    collect() {
      this.reset()
      for (const { pool, revision, slots } of picker.slotsByRevision()) this.set({ pool, revision }, slots)
    },
  })
}

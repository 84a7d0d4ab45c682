import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

/** Why there was no place; `stopping`: the process ends, and another one has places. */
export type RefusalReason = 'replica' | 'workspace' | 'person' | 'stopping'
/** `rights`: the session ended or the membership went; `slow`: nothing was taken for a while. */
export type EndReason = 'client' | 'token' | 'rights' | 'slow' | 'stopping'

/** All of this file; docs/metrics.md lists them. */
export const streamMetrics = {
  open: gauge({
    name: 'matte_task_streams_open',
    help: 'Streams of task changes that are open; STREAMS_MAX is their bound.',
    reader: 'saturation',
  }),
  sent: counter({
    name: 'matte_task_stream_events_total',
    help: 'Events sent to streams of task changes; one that goes to ten streams counts ten times.',
  }),
  refused: counter({
    name: 'matte_task_streams_refused_total',
    help:
      'Streams that were not opened because the process, the workspace or the person has as many as it may, or the ' +
      'process is stopping.',
    labels: { reason: ['replica', 'workspace', 'person', 'stopping'] },
    reader: 'saturation',
  }),
  ended: counter({
    name: 'matte_task_streams_ended_total',
    help:
      'Streams that ended: the client left, its access token expired, it lost its rights, it took nothing for too ' +
      'long, or the process stops.',
    labels: { reason: ['client', 'token', 'rights', 'slow', 'stopping'] },
  }),
}

export function createStreamMetrics(registry: Registry, openNow: () => number) {
  streamMetrics.open.register(registry, (metric) => metric.set(openNow()))
  const sent = streamMetrics.sent.register(registry)
  const refused = streamMetrics.refused.register(registry)
  const ended = streamMetrics.ended.register(registry)
  return {
    sent: (count: number): void => sent.inc(count),
    refused: (reason: RefusalReason): void => refused.inc({ reason }),
    ended: (reason: EndReason): void => ended.inc({ reason }),
  }
}

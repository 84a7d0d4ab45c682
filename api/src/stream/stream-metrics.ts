import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

/** `stopping`: another replica has capacity. */
export type RefusalReason = 'replica' | 'workspace' | 'person' | 'stopping'
/** `rights`: the session or membership ended. `slow`: the client received nothing for a while. */
export type EndReason = 'client' | 'token' | 'rights' | 'slow' | 'stopping'

export const streamMetrics = {
  open: gauge({
    name: 'matte_task_streams_open',
    help: 'Open streams of task changes; bounded by STREAMS_MAX.',
    reader: 'saturation',
  }),
  sent: counter({
    name: 'matte_task_stream_events_total',
    help: 'Events sent to streams of task changes; an event sent to ten streams counts ten times.',
  }),
  refused: counter({
    name: 'matte_task_streams_refused_total',
    help:
      'Streams refused because the process, the workspace or the person reached its limit, or the process is ' +
      'stopping.',
    labels: { reason: ['replica', 'workspace', 'person', 'stopping'] },
    reader: 'saturation',
  }),
  ended: counter({
    name: 'matte_task_streams_ended_total',
    help:
      'Streams ended because the client left, its access token expired, its permission was revoked, it was too ' +
      'slow, or the process stopped.',
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

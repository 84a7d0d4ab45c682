import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

/** `stopping`: another replica has capacity. */
export type RefusalReason = 'replica' | 'workspace' | 'person' | 'stopping'
/**
 * `rights`: the session, membership or key ended. `slow`: the client received nothing for a while. `token`: the access
 * token expired.
 */
export type EndReason = 'client' | 'token' | 'rights' | 'slow' | 'stopping'

export const taskStreamMetrics = {
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

export const webhookStreamMetrics = {
  open: gauge({
    name: 'matte_webhook_streams_open',
    help: 'Open streams of webhooks; bounded by WEBHOOK_STREAMS_MAX.',
    reader: 'saturation',
  }),
  sent: counter({
    name: 'matte_webhook_stream_events_total',
    help: 'Events sent to streams of webhooks; an event sent to ten streams counts ten times.',
  }),
  refused: counter({
    name: 'matte_webhook_streams_refused_total',
    help: 'Streams of webhooks refused because the process or the workspace reached its limit, or the process stops.',
    labels: { reason: ['replica', 'workspace', 'stopping'] },
    reader: 'saturation',
  }),
  ended: counter({
    name: 'matte_webhook_streams_ended_total',
    help:
      'Streams of webhooks ended because the client left, the key was revoked or lost its scope, the client was too ' +
      'slow, or the process stopped.',
    labels: { reason: ['client', 'rights', 'slow', 'stopping'] },
  }),
}

export type StreamMetrics = {
  sent(count: number): void
  refused(reason: RefusalReason): void
  ended(reason: EndReason): void
}

/** Keys have no expiring token, and only members count as persons, so a webhook stream never has these two reasons. */
export function createStreamMetrics(
  definitions: typeof taskStreamMetrics | typeof webhookStreamMetrics,
  registry: Registry,
  openNow: () => number,
): StreamMetrics {
  definitions.open.register(registry, (metric) => metric.set(openNow()))
  const sent = definitions.sent.register(registry)
  const refused = definitions.refused.register(registry)
  const ended = definitions.ended.register(registry)
  return {
    sent: (count) => sent.inc(count),
    refused: (reason) => refused.inc({ reason }),
    ended: (reason) => ended.inc({ reason }),
  }
}

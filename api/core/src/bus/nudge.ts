import { headers } from '@nats-io/nats-core'
import type { Logger } from 'pino'
import { currentTraceparent, markSpan } from '../runtime/tracing.ts'
import type { Bus } from './bus.ts'
import { subjects } from './streams.ts'

export type Nudge = {
  /** A task of this model version is queued. Never throws: a timer covers lost nudges. */
  task(modelVersion: string, taskId: string): void
  /** A delivery may be due. Never throws. */
  delivery(id: string): void
  /** An image is to be fetched by URL. Never throws. */
  fetch(id: string): void
  /** The workspace's history has grown. Never throws: streams also poll. */
  change(workspaceId: string): void
}

export function createNudge(bus: Bus, logger: Logger): Nudge {
  const publish = (subject: string, id: string): void => {
    try {
      markSpan('nudge.publish', { kind: 'producer', attributes: { 'messaging.destination.name': subject } })
      const traceparent = currentTraceparent()
      const header = traceparent ? headers() : undefined
      if (traceparent) header?.set('traceparent', traceparent)
      // Published without waiting for an ack, so a 2xx depends on the database only.
      bus.connection()?.publish(subject, id, { ...(header && { headers: header }) })
    } catch (error) {
      logger.debug({ err: error, subject }, 'nudge lost')
    }
  }
  return {
    task: (modelVersion, taskId) => publish(subjects.task(bus.prefix, modelVersion), taskId),
    delivery: (id) => publish(subjects.delivery(bus.prefix), id),
    fetch: (id) => publish(subjects.fetch(bus.prefix), id),
    change: (workspaceId) => publish(subjects.change(bus.prefix), workspaceId),
  }
}

// Turns events and ends of tasks into notifications and mails. Several dispatchers can run it at the same time.

import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { type Loop, loop } from '@matte/core/runtime/loop'
import { counter } from '@matte/core/runtime/metrics/define'
import { webhookEvents } from '@matte/core/webhook/events'
import {
  deleteOldEvents,
  type NotificationDeps,
  notifyEndedTasks,
  notifyEvents,
} from '@matte/people/notification/make-notifications'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { dueParts } from './due-parts.ts'

/** Listed in docs/metrics.md. */
export const notificationMetrics = {
  made: counter({
    name: 'matte_notifications_total',
    help: 'Notifications created, by channel: in the App, or a queued mail.',
    labels: { event: webhookEvents, channel: ['inApp', 'email'] },
    reader: 'product',
  }),
  failures: counter({
    name: 'matte_notification_failures_total',
    help: 'Passes in which at least one event could not be turned into notifications. The event is kept and retried.',
    reader: 'alert',
  }),
}

export type NotificationMetrics = ReturnType<typeof createNotificationMetrics>

export const createNotificationMetrics = (registry: Registry) => ({
  made: notificationMetrics.made.register(registry),
  failures: notificationMetrics.failures.register(registry),
})

type NotificationLoopOptions = Omit<NotificationDeps, 'made'> & {
  readonly metrics: NotificationMetrics
  readonly logger: Logger
}

const everyMs = 1_000

export function notificationLoop({ metrics, logger, ...rest }: NotificationLoopOptions): Loop {
  const deps: NotificationDeps = {
    ...rest,
    made: (event, channel) => metrics.made.inc({ event, channel }),
  }
  return loop({
    name: 'notifications',
    everyMs,
    logger,
    run: async (signal) => {
      const { failures } = await sweepParts(
        { events: (pass) => notifyEvents(deps, pass), ends_of_tasks: (pass) => notifyEndedTasks(deps, pass) },
        { signal },
      )
      for (const { part, error, rows } of failures) {
        metrics.failures.inc()
        logger.error({ part, rows, err: error }, 'notifications not created; their events are kept')
      }
      return {} // the metrics count notifications
    },
  })
}

/** Replaces the notification loop if accounts are disabled: deletes events after the retention of notifications. */
export const oldEventsLoop = ({ db, logger }: { readonly db: Db; readonly logger: Logger }): Loop =>
  dueParts({
    name: 'old-events',
    everyMs: 60_000,
    parts: { old_events: (pass) => deleteOldEvents(db, pass) },
    wake: () => undefined,
    logger,
  })

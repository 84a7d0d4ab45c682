import { counter } from '@matte/core/runtime/metrics/define'
import { webhookEvents } from '@matte/core/webhook/events'
import type { Registry } from 'prom-client'

/** All of this file; docs/metrics.md lists them. */
export const notificationMetrics = {
  made: counter({
    name: 'matte_notifications_total',
    help: 'Notifications made for people: in the App, and as mails that were queued.',
    labels: { event: webhookEvents, channel: ['inApp', 'email'] },
    reader: 'product',
  }),
  failures: counter({
    name: 'matte_notification_failures_total',
    help: 'Passes over events and ends of tasks in which at least one could not be told to people. They are kept.',
    reader: 'alert',
  }),
}

export type NotificationMetrics = ReturnType<typeof createNotificationMetrics>

export const createNotificationMetrics = (registry: Registry) => ({
  made: notificationMetrics.made.register(registry),
  failures: notificationMetrics.failures.register(registry),
})

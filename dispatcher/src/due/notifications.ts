// Turns what happened into what people are told. The same wherever it runs: any number of dispatchers may.
import { sweepParts } from '@matte/core/db/sweep'
import { type NotificationDeps, tellEndsOfTasks, tellEvents } from '@matte/core/notification/make-notifications'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { NotificationMetrics } from './notification-metrics.ts'

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
        { events: (pass) => tellEvents(deps, pass), ends_of_tasks: (pass) => tellEndsOfTasks(deps, pass) },
        { signal },
      )
      for (const { part, error, rows } of failures) {
        metrics.failures.inc()
        logger.error({ part, rows, err: error }, 'notifications not made; they wait')
      }
      return {} // the metrics count what was made
    },
  })
}

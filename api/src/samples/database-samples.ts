// Gauges read from the database by every replica. A value that is old or could not be read is absent, so an alert on
// absence detects a stopped reader.
import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { boundedRead } from '@matte/core/sample/bounded-read'
import { readHeldCredits } from '@matte/core/sample/held-credits'
import { findViolations, type InvariantName, invariantNames } from '@matte/core/sample/invariants'
import { readPaymentLag } from '@matte/core/sample/payment-lag'
import { readRetentionLag, readTaskRetentionLag } from '@matte/core/sample/retention-lag'
import { readWaitingTasks } from '@matte/core/sample/waiting-tasks'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import { dueMetrics } from '@matte/core/webhook/due-metrics'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import type { Gauge, Registry } from 'prom-client'
import { sampleMetrics } from './sample-metrics.ts'
import { type Sampled, sampled } from './sampled.ts'

type SamplesDeps = {
  readonly db: Db
  readonly plans: Plans
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly registry: Registry
  readonly logger: Logger
}

const everyMs = 10_000
/** For reads of thousands of rows under backlog, and for reads that are always large. */
const minuteMs = 60_000
const rarelyMs = 300_000
const deliveriesMax = 10_000
const idsMax = 20

export function databaseSamples(deps: SamplesDeps): Service {
  const { plans, clock, registry, logger } = deps
  const within =
    <Value>(read: (db: Db) => Promise<Value>) =>
    () =>
      boundedRead(deps.db, read)
  const often = { clock, everyMs }
  const queue = sampled({ ...often, read: within((db) => readWaitingTasks(db, plans)) })
  const due = sampled({ ...often, read: within((db) => readDueState(db, deliveriesMax)) })
  const held = sampled({ clock, everyMs: minuteMs, read: within(readHeldCredits) })
  const lag = sampled({ ...often, read: within(readRetentionLag) })
  const paymentLag = sampled({ clock, everyMs: minuteMs, read: within(readPaymentLag) })
  const taskLag = sampled({ clock, everyMs: rarelyMs, read: within((db) => readTaskRetentionLag(db, plans)) })
  const violations = sampled({ clock, everyMs: rarelyMs, read: within((db) => checkInvariants(db, logger)) })

  sampleMetrics.queuedAge.register(registry, (metric) => {
    metric.reset()
    for (const { modelVersion, oldestSeconds } of queue.current() ?? [])
      metric.set({ model_version: modelVersion }, oldestSeconds)
  })
  sampleMetrics.queued.register(registry, (metric) => {
    metric.reset()
    for (const { modelVersion, waiting } of queue.current() ?? []) metric.set({ model_version: modelVersion }, waiting)
  })
  dueMetrics.dueAge.register(registry, (metric) => show(metric, due.current()?.oldestDueAgeMs, 1_000))
  sampleMetrics.deliveriesDue.register(registry, (metric) => show(metric, due.current()?.waiting))
  sampleMetrics.creditsHeld.register(registry, (metric) => show(metric, held.current()))
  sampleMetrics.retentionLag.register(registry, (metric) => {
    metric.reset()
    for (const { what, seconds } of [lag, taskLag].flatMap((each) => each.current() ?? []))
      metric.set({ what }, seconds)
  })
  sampleMetrics.paymentLag.register(registry, (metric) => {
    metric.reset()
    for (const { what, seconds } of paymentLag.current() ?? []) metric.set({ what }, seconds)
  })
  sampleMetrics.violations.register(registry, (metric) => {
    metric.reset()
    for (const [invariant, rows] of violations.current() ?? []) metric.set({ invariant }, rows)
  })
  return refreshing([queue, due, held, lag, paymentLag, taskLag, violations], logger)
}

/** A failed read does not stop the others; the loop logs the first error. */
function refreshing(all: readonly Pick<Sampled<unknown>, 'refresh'>[], logger: Logger): Service {
  return loop({
    name: 'database-samples',
    everyMs,
    run: async (signal) => {
      const failures: unknown[] = []
      for (const each of all) if (!signal.aborted) await each.refresh().catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
      return {}
    },
    logger,
  })
}

/** Without labels, a new gauge would be 0 instead of absent. */
function show(metric: Gauge, value: number | undefined, parts = 1): void {
  if (value === undefined) metric.remove()
  else metric.set(value / parts)
}

async function checkInvariants(db: Db, logger: Logger): Promise<(readonly [InvariantName, number])[]> {
  const counts: (readonly [InvariantName, number])[] = []
  for (const invariant of invariantNames) {
    const ids = await findViolations(db, invariant)
    counts.push([invariant, ids.length])
    if (ids.length > 0)
      logger.error({ invariant, rows: ids.length, ids: ids.slice(0, idsMax) }, 'an invariant is broken')
  }
  return counts
}

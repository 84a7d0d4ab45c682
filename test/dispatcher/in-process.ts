import type { Db } from '@matte/core/db/database'
import { systemClock } from '@matte/core/runtime/clock'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { type DeliverDeps, deliver } from '@matte/dispatcher/deliver'
import { createDeliveryMetrics } from '@matte/dispatcher/delivery-metrics'
import { type DueLoop, dueLoop } from '@matte/dispatcher/due-loop'
import { createHttpClient } from '@matte/dispatcher/egress/http-client'
import { pino } from 'pino'
import { processDb } from '../support/roles.ts'
import { masterKeysText } from './given.ts'

export const masterKeys = parseMasterKeys(masterKeysText)

export type Line = Readonly<Record<string, unknown>>

export type Dispatcher = {
  readonly due: DueLoop
  readonly deps: DeliverDeps
  /** All lines logged so far. */
  readonly lines: readonly Line[]
  metrics(): Promise<string>
  stop(): Promise<void>
}

export type DispatcherOptions = Partial<DeliverDeps> & {
  readonly timeoutMs?: number
  readonly finishWithinMs?: number
  readonly slots?: number
}

/** The parts of the dispatcher, wired as in services.ts, limited to receivers on this machine. */
export function createDispatcher(owner: Db, options: DispatcherOptions = {}): Dispatcher {
  const db = processDb('dispatcher', owner)
  const { timeoutMs = 30_000, finishWithinMs = 30_000, slots = 64, ...replaced } = options
  const lines: Line[] = []
  const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const registry = createRegistry('dispatcher')
  const metrics = createDeliveryMetrics(registry)
  const deps: DeliverDeps = {
    db,
    http: createHttpClient({ deniedNetworks: [], timeoutMs }),
    masterKeys,
    allowedTargets: () => ['127.0.0.1:*'],
    retry: { maxRetries: 12, retryUnitMs: 1 },
    clock: systemClock,
    metrics,
    logger,
    ...replaced,
  }
  const due = dueLoop({
    db,
    deliver: (assignment, signal) => deliver(deps, assignment, signal),
    slots,
    timeoutMs,
    finishWithinMs,
    clock: systemClock,
    metrics,
    logger,
  })
  return {
    due,
    deps,
    lines,
    metrics: () => registry.metrics(),
    stop: async () => {
      await due.stop()
      await deps.http.close()
    },
  }
}

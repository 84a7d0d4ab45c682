// Callers that wait for a row to change. One loop per process reads all awaited rows in one statement, so a
// waiting caller holds a socket and no database connection.

import type { Db } from '@matte/core/db/database'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred, pause, type Service } from '@matte/core/runtime/service'
import { findEndedTasks } from '@matte/core/task/list-tasks'
import type { ShownTask } from '@matte/core/task/task-queries'
import { type EndedFetch, findEndedFetches } from '@matte/core/upload/fetch/fetch-queries'
import { findAttemptedDeliveries, type ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import type { Logger } from 'pino'

/** Longest delay of a response. Ten look-ups per second by primary key are cheap. */
const everyMs = 100
/** Open waits per process, a quarter per holder. */
const waitsMax = 1_000

export type LongPoll<R> = Service & {
  /** Undefined after `waitMs`, after the signal, or when the process stops. Null when too many already wait. */
  wait(id: string, wanted: Wanted): Promise<R | undefined | null>
  end(): void
}

type Wanted = {
  readonly waitMs: number
  readonly signal: AbortSignal
  readonly holders: readonly string[]
}

type Wait<R> = { readonly id: string; readonly ended: (row: R) => void }

type LongPollOptions<R> = {
  readonly name: string
  /** Returns the rows that are ready. */
  readonly read: (ids: readonly string[]) => Promise<readonly R[]>
  readonly logger: Logger
}

export function longPoll<R extends { readonly id: string }>({ name, read, logger }: LongPollOptions<R>): LongPoll<R> {
  const waits = new Set<Wait<R>>()
  const slots = new SlotPool(waitsMax)
  const ending = new AbortController()
  let added = deferred<void>()

  async function readEnded(stopping: AbortSignal) {
    if (waits.size === 0) {
      added = deferred()
      await settledOrAborted(added.promise, stopping)
    }
    if (waits.size === 0) return {}
    const ids = new Set([...waits].map(({ id }) => id))
    for (const row of await read([...ids])) {
      for (const wait of waits) if (wait.id === row.id) wait.ended(row)
    }
    return {}
  }

  async function wait(id: string, { waitMs, signal, holders }: Wanted): Promise<R | undefined | null> {
    if (!slots.hasSlot(...holders)) return null
    const over = new AbortController()
    let found: R | undefined
    const wait: Wait<R> = {
      id,
      ended: (row) => {
        found = row
        over.abort()
      },
    }
    waits.add(wait)
    slots.enter(...holders)
    added.resolve()
    await pause(waitMs, AbortSignal.any([over.signal, signal, ending.signal]))
    waits.delete(wait)
    slots.leave(...holders)
    return found
  }

  const inner = loop({ name, everyMs, run: readEnded, logger })
  return { ...inner, wait, end: () => ending.abort() }
}

export type TaskPoll = LongPoll<ShownTask>

export const taskPoll = (db: Db, logger: Logger): TaskPoll =>
  longPoll({ name: 'task-waits', read: (ids) => findEndedTasks(db, ids), logger })

export type AttemptPoll = LongPoll<ShownDelivery>

export const attemptPoll = (db: Db, logger: Logger): AttemptPoll =>
  longPoll({ name: 'attempt-waits', read: (ids) => findAttemptedDeliveries(db, ids), logger })

export type FetchPoll = LongPoll<EndedFetch>

export const fetchPoll = (db: Db, logger: Logger): FetchPoll =>
  longPoll({ name: 'fetch-waits', read: (ids) => findEndedFetches(db, ids), logger })

// Callers that wait for a row to change. One loop per process reads the awaited rows in one statement, so a waiting
// caller holds a socket and no database connection. A nudge about a workspace makes the loop read its rows at once.

import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { subjects } from '@matte/core/bus/streams'
import type { Db } from '@matte/core/db/database'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred, pause, type Service } from '@matte/core/runtime/service'
import { findEndedTasks } from '@matte/core/task/list-tasks'
import type { ShownTask } from '@matte/core/task/task-queries'
import { type EndedFetch, findEndedFetches } from '@matte/core/upload/fetch/fetch-queries'
import { findAttemptedDeliveries, type ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import { findWorkspacesWithSlot } from '@matte/core/workspace/limit/single-slot'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'

/** Longest delay of a response when nudges are lost. Ten look-ups per second by primary key are cheap. */
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

type Wait<R> = { readonly id: string; readonly holders: readonly string[]; readonly ended: (row: R) => void }

type LongPollOptions<R> = {
  readonly name: string
  /** Returns the rows that are ready. */
  readonly read: (ids: readonly string[]) => Promise<readonly R[]>
  /** Carries nudges about the rows; undefined: there are none. */
  readonly bus?: Bus
  readonly logger: Logger
}

export function longPoll<R extends { readonly id: string }>(options: LongPollOptions<R>): LongPoll<R> {
  const { name, read, bus, logger } = options
  const waits = new Set<Wait<R>>()
  /** Workspaces to read before the next full pass. */
  const nudged = new Set<string>()
  let fullAtMs = 0
  const slots = new SlotPool(waitsMax)
  const ending = new AbortController()
  let added = deferred<void>()

  async function readEnded(stopping: AbortSignal) {
    if (waits.size === 0) {
      added = deferred()
      await settledOrAborted(added.promise, stopping)
    }
    const ids = new Set(takeDue().map(({ id }) => id))
    if (ids.size === 0) return {}
    for (const row of await read([...ids])) {
      for (const wait of waits) if (wait.id === row.id) wait.ended(row)
    }
    return {}
  }

  /** All waits, or between full passes only those of nudged workspaces: a busy one costs the others nothing. */
  function takeDue(): Wait<R>[] {
    const isFull = performance.now() - fullAtMs >= everyMs
    if (isFull) fullAtMs = performance.now()
    const due = [...waits].filter(({ holders }) => isFull || holders.some((holder) => nudged.has(holder)))
    nudged.clear()
    return due
  }

  function look(holder: string): void {
    if (!slots.holds(holder)) return
    nudged.add(holder)
    added.resolve()
    inner.wake()
  }

  async function wait(id: string, { waitMs, signal, holders }: Wanted): Promise<R | undefined | null> {
    if (!slots.hasSlot(...holders)) return null
    const over = new AbortController()
    let found: R | undefined
    const wait: Wait<R> = {
      id,
      holders,
      ended: (row) => {
        found = row
        over.abort()
      },
    }
    waits.add(wait)
    slots.enter(...holders)
    for (const holder of holders) look(holder)
    await pause(waitMs, AbortSignal.any([over.signal, signal, ending.signal]))
    waits.delete(wait)
    slots.leave(...holders)
    return found
  }

  const inner = loop({ name, everyMs, run: readEnded, logger })
  const parts = [inner, ...(bus ? [listen({ bus, subject: subjects.change(bus.prefix), heard: look })] : [])]
  return {
    name,
    start: async () => void parts.map((part) => part.start()),
    stop: async () => void (await Promise.all(parts.map((part) => part.stop()))),
    wait,
    end: () => ending.abort(),
  }
}

type NudgedDeps = { readonly db: Db; readonly bus: Bus; readonly logger: Logger }

export type TaskPoll = LongPoll<ShownTask>

export const taskPoll = ({ db, ...deps }: NudgedDeps): TaskPoll =>
  longPoll({ ...deps, name: 'task-waits', read: (ids) => findEndedTasks(db, ids) })

/** Waits for a workspace, by its id, to have room for another single task. */
export type SlotPoll = LongPoll<{ readonly id: string }>

export const slotPoll = ({ db, ...deps }: NudgedDeps, plans: Plans): SlotPoll =>
  longPoll({ ...deps, name: 'slot-waits', read: (ids) => findWorkspacesWithSlot(db, ids, plans) })

export type AttemptPoll = LongPoll<ShownDelivery>

export const attemptPoll = (db: Db, logger: Logger): AttemptPoll =>
  longPoll({ name: 'attempt-waits', read: (ids) => findAttemptedDeliveries(db, ids), logger })

export type FetchPoll = LongPoll<EndedFetch>

export const fetchPoll = (db: Db, logger: Logger): FetchPoll =>
  longPoll({ name: 'fetch-waits', read: (ids) => findEndedFetches(db, ids), logger })

// Callers that wait for something to become of a row (D43). One loop a process asks for all of them in one statement,
// so a waiting caller holds a socket and no database connection. A process that dies takes its sockets along; the rows
// are none the wiser.
import { Room } from '@matte/core/runtime/concurrency/room'
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred, pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'

/** What a wait is late by, at most. Ten primary-key look-ups of a list a second weigh nothing beside the tasks. */
const everyMs = 100
/**
 * Open waits of a process, so that one statement's list and the open sockets stay small, a quarter of them for each
 * holder; more do not wait.
 */
const waitsMax = 1_000

export type RowWaits<R> = Service & {
  /**
   * The row once it is there as awaited. Undefined: not within `waitMs`, or the signal came first, or this process
   * stops. Null: too many wait already, of all or of one of the holders, so this one did not.
   */
  untilEnded(id: string, wanted: Wanted): Promise<R | undefined | null>
  /** Ends every wait now; later ones do not begin. */
  end(): void
}

type Wanted = {
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Those whose share of waits it counts for. */
  readonly holders: readonly string[]
}

type Wait<R> = { readonly id: string; readonly ended: (row: R) => void }

type RowWaitsOptions<R> = {
  readonly name: string
  /** Those of the rows that are as awaited. */
  readonly read: (ids: readonly string[]) => Promise<readonly R[]>
  readonly logger: Logger
}

export function rowWaits<R extends { readonly id: string }>({ name, read, logger }: RowWaitsOptions<R>): RowWaits<R> {
  const waits = new Set<Wait<R>>()
  const room = new Room(waitsMax)
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

  async function untilEnded(id: string, { waitMs, signal, holders }: Wanted): Promise<R | undefined | null> {
    if (!room.hasPlace(...holders)) return null
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
    room.enter(...holders)
    added.resolve()
    await pause(waitMs, AbortSignal.any([over.signal, signal, ending.signal]))
    waits.delete(wait)
    room.leave(...holders)
    return found
  }

  const inner = loop({ name, everyMs, run: readEnded, logger })
  return { ...inner, untilEnded, end: () => ending.abort() }
}

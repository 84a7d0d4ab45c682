// Callers that wait for the end of a task (D43). One loop a process asks for all of them in one statement, so a
// waiting caller holds a socket and no database connection. A process that dies takes its sockets along; the tasks are
// none the wiser.
import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred, pause, type Service } from '@matte/core/runtime/service'
import { findEndedTasks } from '@matte/core/task/list-tasks'
import type { ShownTask } from '@matte/core/task/task-queries'
import type { Logger } from 'pino'

/** What a wait is late by, at most. Ten primary-key look-ups of a list a second weigh nothing beside the tasks. */
const everyMs = 100
/** Open waits of a process, so that one statement's list and the open sockets stay small; more do not wait. */
const waitsMax = 1_000

export type TaskWaits = Service & {
  /**
   * The task's row once it has ended. Undefined: not within `waitMs`, or the signal came first, or this process stops.
   * Null: too many wait already, so this one did not.
   */
  untilEnded(id: string, waitMs: number, signal: AbortSignal): Promise<ShownTask | undefined | null>
  /** Ends every wait now; later ones do not begin. */
  end(): void
}

type Wait = { readonly id: string; readonly ended: (task: ShownTask) => void }

export function taskWaits(db: Db, logger: Logger): TaskWaits {
  const waits = new Set<Wait>()
  const ending = new AbortController()
  let added = deferred<void>()

  async function readEnded(stopping: AbortSignal) {
    if (waits.size === 0) {
      added = deferred()
      await settledOrAborted(added.promise, stopping)
    }
    if (waits.size === 0) return {}
    const ids = new Set([...waits].map(({ id }) => id))
    for (const task of await findEndedTasks(db, [...ids])) {
      for (const wait of waits) if (wait.id === task.id) wait.ended(task)
    }
    return {}
  }

  async function untilEnded(id: string, waitMs: number, signal: AbortSignal): Promise<ShownTask | undefined | null> {
    if (waits.size >= waitsMax) return null
    const over = new AbortController()
    let task: ShownTask | undefined
    const wait: Wait = {
      id,
      ended: (row) => {
        task = row
        over.abort()
      },
    }
    waits.add(wait)
    added.resolve()
    await pause(waitMs, AbortSignal.any([over.signal, signal, ending.signal]))
    waits.delete(wait)
    return task
  }

  const inner = loop({ name: 'task-waits', everyMs, run: readEnded, logger })
  return { ...inner, untilEnded, end: () => ending.abort() }
}

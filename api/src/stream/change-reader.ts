// Reads for all open streams in one statement. Streams at the same event of the same workspace share a cursor. The rows
// are the truth; a hint only triggers an early read.

import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { type Deferred, deferred, type Service } from '@matte/core/runtime/service'
import { readChanges, type TaskChange } from '@matte/core/task/read-changes'
import { findLiveSessions, type SessionIn } from '@matte/people/identity/session/find-member'
import type { Logger } from 'pino'
import { toTaskChangeView } from '../schemas/app/task-event.ts'
import type { EventStream } from './event-stream.ts'

/** Longest delay of an event without a hint, and interval of the permission check. */
const everyMs = 1_000
/** Gathers hints: at most twenty statements per second. */
const gatherMs = 50
/** Events per statement: for all cursors together, and for one. */
const eventsMax = 5_000
const pageMax = 200

type ChangeReader = Service & {
  look(workspaceId: string): void
  added(stream: EventStream): void
}

type ReaderDeps = {
  readonly db: Db
  readonly open: ReadonlySet<EventStream>
  readonly sent: (count: number) => void
  readonly logger: Logger
}

export function changeReader({ db, open, sent, logger }: ReaderDeps): ChangeReader {
  const asked = new Set<string>()
  /** Next time to check every stream; 0: in the next pass, such as after a failure. */
  let allDueMs = 0
  let gathering: NodeJS.Timeout | undefined
  let first: Deferred<void> = deferred()

  function look(workspaceId: string): void {
    asked.add(workspaceId)
    gathering ??= setTimeout(() => {
      gathering = undefined
      if (allDueMs > 0) inner.wake() // after a failure the loop's back-off applies
    }, gatherMs)
  }

  async function pass(stopping: AbortSignal) {
    if (open.size === 0) {
      first = deferred()
      await settledOrAborted(first.promise, stopping)
    }
    const nowMs = performance.now()
    const all = nowMs >= allDueMs
    const streams = [...open].filter(({ workspaceId, takes }) => takes && (all || asked.has(workspaceId)))
    asked.clear()
    try {
      if (all) await endWithoutRights(db, [...open])
      const { count, again } = await deliver(db, streams)
      sent(count)
      for (const workspaceId of again) look(workspaceId)
      if (all) allDueMs = nowMs + everyMs
    } catch (error) {
      allDueMs = 0
      throw error
    }
    return {}
  }

  const inner = loop({ name: 'task-streams', everyMs, run: pass, logger })
  return {
    ...inner,
    stop: async () => {
      clearTimeout(gathering)
      await inner.stop()
    },
    look,
    added: (stream) => {
      first.resolve()
      look(stream.workspaceId)
    },
  }
}

/** Runs before delivery, so no event follows a revoked permission by more than the interval. */
async function endWithoutRights(db: Db, streams: readonly EventStream[]): Promise<void> {
  const pairs = new Map(streams.map((stream) => [nameOf(stream), stream]))
  if (pairs.size === 0) return
  const live = new Set((await findLiveSessions(db, [...pairs.values()])).map(nameOf))
  for (const stream of streams) if (!live.has(nameOf(stream))) stream.end('rights')
}

/** `again`: workspaces with more events than a page. */
async function deliver(db: Db, streams: readonly EventStream[]) {
  const groups = Map.groupBy(streams, ({ workspaceId, after }) => `${workspaceId} ${after}`)
  const places = [...groups.values()].flatMap(([stream]) => stream ?? [])
  const limit = Math.max(1, Math.min(pageMax, Math.floor(eventsMax / places.length)))
  const found = places.length === 0 ? [] : await readChanges(db, places, limit)
  let count = 0
  for (const [index, group] of [...groups.values()].entries()) {
    const changes = found[index] ?? []
    const last = changes.at(-1)
    if (last === undefined) continue
    const text = changes.map(toText).join('')
    for (const stream of group) {
      if (!stream.takes) continue
      stream.after = last.id
      stream.send(text, performance.now())
      count += changes.length
    }
  }
  const again = places.filter((_, index) => found[index]?.length === limit).map(({ workspaceId }) => workspaceId)
  return { count, again }
}

const nameOf = ({ sessionId, workspaceId }: SessionIn): string => `${sessionId} ${workspaceId}`

/** A server-sent event; JSON has no line breaks. */
const toText = (change: TaskChange): string =>
  `id: ${change.id}\nevent: task\ndata: ${JSON.stringify(toTaskChangeView(change))}\n\n`

// Reads for all open streams of one kind, in few statements. Streams at the same position of the same workspace share a
// cursor. The rows are the truth; a hint only triggers an early read.
import { loop } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { type Deferred, deferred, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { EventStream, StreamOf } from './event-stream.ts'

/** Longest delay of an event without a hint, and interval of the permission check. */
const everyMs = 1_000
/** Gathers hints: at most twenty passes per second. */
const gatherMs = 50
/** Events per statement: for all cursors together, and for one. */
const eventsMax = 5_000
const pageMax = 200

type Place = { readonly workspaceId: string; readonly after: number }

/** `position`: where the stream continues after the entry. */
type Entry = { readonly position: number }

/** Server-sent events, and their number. */
type Page = { readonly text: string; readonly count: number }

export type StreamSource<Of extends StreamOf, E extends Entry> = {
  /** Streams whose credential still permits them. */
  permitted(streams: readonly EventStream<Of>[]): Promise<ReadonlySet<EventStream<Of>>>
  /** Entries after each place, in order, at most `limit` each. */
  read(places: readonly Place[], limit: number): Promise<readonly (readonly E[])[]>
  /** Renders entries once for all streams at the same place; the result adapts them to one stream. */
  render(entries: readonly E[]): (of: Of) => Page
}

type StreamReader = Service & {
  look(workspaceId: string): void
  added(workspaceId: string): void
}

type ReaderDeps<Of extends StreamOf, E extends Entry> = {
  readonly name: string
  readonly open: ReadonlySet<EventStream<Of>>
  readonly source: StreamSource<Of, E>
  readonly sent: (count: number) => void
  readonly logger: Logger
}

export function streamReader<Of extends StreamOf, E extends Entry>(deps: ReaderDeps<Of, E>): StreamReader {
  const { name, open, source, sent, logger } = deps
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
    const streams = [...open].filter(({ of, takes }) => takes && (all || asked.has(of.workspaceId)))
    asked.clear()
    try {
      if (all) await endWithoutRights(source, [...open])
      const { count, again } = await deliver(source, streams)
      sent(count)
      for (const workspaceId of again) look(workspaceId)
      if (all) allDueMs = nowMs + everyMs
    } catch (error) {
      allDueMs = 0
      throw error
    }
    return {}
  }

  const inner = loop({ name, everyMs, run: pass, logger })
  return {
    ...inner,
    stop: async () => {
      clearTimeout(gathering)
      await inner.stop()
    },
    look,
    added: (workspaceId) => {
      first.resolve()
      look(workspaceId)
    },
  }
}

/** Runs before delivery, so no event follows a revoked permission by more than the interval. */
async function endWithoutRights<Of extends StreamOf, E extends Entry>(
  source: StreamSource<Of, E>,
  streams: readonly EventStream<Of>[],
): Promise<void> {
  if (streams.length === 0) return
  const permitted = await source.permitted(streams)
  for (const stream of streams) if (!permitted.has(stream)) stream.end('rights')
}

/** `again`: workspaces with more events than a page. */
async function deliver<Of extends StreamOf, E extends Entry>(
  source: StreamSource<Of, E>,
  streams: readonly EventStream<Of>[],
) {
  const groups = Map.groupBy(streams, ({ of, after }) => `${of.workspaceId} ${after}`)
  const places = [...groups.values()].flatMap(([stream]) =>
    stream === undefined ? [] : { workspaceId: stream.of.workspaceId, after: stream.after },
  )
  const limit = Math.max(1, Math.min(pageMax, Math.floor(eventsMax / places.length)))
  const found = places.length === 0 ? [] : await source.read(places, limit)
  let count = 0
  for (const [index, group] of [...groups.values()].entries()) {
    const entries = found[index] ?? []
    const last = entries.at(-1)
    if (last === undefined) continue
    const pageFor = source.render(entries)
    for (const stream of group) {
      if (!stream.takes) continue
      const page = pageFor(stream.of)
      stream.after = last.position
      if (page.count > 0) stream.send(page.text, performance.now())
      count += page.count
    }
  }
  const again = places.filter((_, index) => found[index]?.length === limit).map(({ workspaceId }) => workspaceId)
  return { count, again }
}

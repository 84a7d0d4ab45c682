// Streams of task changes, for members.
import type { Readable } from 'node:stream'
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import type { Service } from '@matte/core/runtime/service'
import { readChanges, readLastEventId, type TaskChange } from '@matte/core/task/read-changes'
import { findLiveSessions, type SessionIn } from '@matte/people/identity/session/find-member'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { toTaskChangeView } from '../schemas/app/task-event.ts'
import type { EventStream, StreamOf } from './event-stream.ts'
import { createStreamMetrics, taskStreamMetrics } from './stream-metrics.ts'
import type { StreamSource } from './stream-reader.ts'
import { streamSet } from './stream-set.ts'

type TaskStreamOf = StreamOf & SessionIn

export type TaskStreams = Service & {
  /** @throws MatteError RATE_LIMIT_EXCEEDED at the limit, a quarter of it per workspace or person */
  open(wanted: TaskStreamOf & { readonly after: number | undefined }): Promise<Readable>
}

type StreamDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly streamsMax: number
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

type Change = TaskChange & { readonly position: number }

export function taskStreams({ db, registry, ...deps }: StreamDeps): TaskStreams {
  const source: StreamSource<TaskStreamOf, Change> = {
    permitted: (streams) => findPermitted(db, streams),
    read: async (places, limit) => {
      const found = await readChanges(db, places, limit)
      return found.map((changes) => changes.map((change) => ({ ...change, position: change.id })))
    },
    render: (changes) => {
      const page = { text: changes.map(toText).join(''), count: changes.length }
      return () => page
    },
  }
  const metricsOf = (openNow: () => number) => createStreamMetrics(taskStreamMetrics, registry, openNow)
  const set = streamSet({ ...deps, name: 'task-streams', source, metricsOf })
  return {
    ...set,
    open: ({ after, ...of }) =>
      set.open(of, async () => {
        const last = await readLastEventId(db, of.workspaceId)
        // A position beyond the last event comes from a history lost by restoring a backup.
        return { after: Math.min(after ?? last, last) }
      }),
  }
}

async function findPermitted(db: Db, streams: readonly EventStream<TaskStreamOf>[]) {
  const pairs = new Map(streams.map(({ of }) => [nameOf(of), of]))
  const live = new Set((await findLiveSessions(db, [...pairs.values()])).map(nameOf))
  return new Set(streams.filter(({ of }) => live.has(nameOf(of))))
}

const nameOf = ({ sessionId, workspaceId }: SessionIn): string => `${sessionId} ${workspaceId}`

/** A server-sent event; JSON has no line breaks. */
const toText = (change: Change): string =>
  `id: ${change.id}\nevent: task\ndata: ${JSON.stringify(toTaskChangeView(change))}\n\n`

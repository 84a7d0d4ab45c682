// Streams of task changes (A83 to A85): each is a socket and a little text, bounded in number, and costs no statement
// of its own once it is open. What it was sent is known to its client alone, which says it when it comes back, to any
// replica; so a process that stops or dies loses nothing but connections.
import type { Readable } from 'node:stream'
import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { subjects } from '@matte/core/bus/streams'
import type { Db } from '@matte/core/db/database'
import { Room } from '@matte/core/runtime/concurrency/room'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { readLastEventId } from '@matte/core/task/history/read-changes'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { capacityExceeded } from '../errors/answer-error.ts'
import { changeReader } from './change-reader.ts'
import { EventStream, type StreamOf } from './event-stream.ts'
import { createStreamMetrics, type RefusalReason } from './stream-metrics.ts'

const beatMs = 1_000
/** A comment follows so much silence, within 15 s: proxies end what is silent for a minute, some sooner. */
const silenceMs = 14_000
/** Whoever takes nothing for so long is cut off, and can come back to where it was. */
const slowMs = 15_000
/** Between the end of a stream and its client's next try; spread, since a process that stops ends them all at once. */
const retryMs = () => 1_000 + Math.floor(Math.random() * 2_000)

export type TaskStreams = Service & {
  /**
   * Begins behind the event `after`, or with what comes next where none is given.
   * @throws MatteError RATE_LIMIT_EXCEEDED: as many are open as may be, a quarter of them for one workspace or person
   */
  open(wanted: Omit<StreamOf, 'after'> & { readonly after: number | undefined }): Promise<Readable>
}

type StreamDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly streamsMax: number
  /** Aborted when the process begins to stop: clients go elsewhere. */
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

export function taskStreams({ db, bus, streamsMax, stopping, registry, logger }: StreamDeps): TaskStreams {
  const streams = new Set<EventStream>()
  const room = new Room(streamsMax)
  const metrics = createStreamMetrics(registry, () => streams.size)
  const reader = changeReader({ db, open: streams, sent: metrics.sent, logger })
  const listener = listen({ bus, subject: subjects.change(bus.prefix), heard })
  const beats = repeat({ name: 'task-stream-beats', pass: async () => beat(streams) })
  stopping.addEventListener('abort', () => endAll(streams), { once: true })

  function heard(workspaceId: string): void {
    if (room.holds(workspaceId)) reader.look(workspaceId)
  }

  function findRefusal({ workspaceId, holders }: Pick<StreamOf, 'workspaceId' | 'holders'>): RefusalReason | undefined {
    if (stopping.aborted) return 'stopping'
    if (room.hasPlace(...holders)) return undefined
    if (room.isFull) return 'replica'
    return room.hasShare(workspaceId) ? 'person' : 'workspace'
  }

  const open: TaskStreams['open'] = async ({ after, ...of }) => {
    const refusal = findRefusal(of)
    if (refusal !== undefined) {
      metrics.refused(refusal)
      throw capacityExceeded()
    }
    room.enter(...of.holders)
    try {
      const last = await readLastEventId(db, of.workspaceId)
      // One beyond the last is of a history that was lost, as by a backup that was put back.
      const stream = new EventStream({ ...of, after: Math.min(after ?? last, last) })
      of.outgoing.on('drain', () => reader.look(of.workspaceId))
      return begin(stream)
    } catch (error) {
      room.leave(...of.holders)
      throw error
    }
  }

  function begin(stream: EventStream): EventStream {
    streams.add(stream)
    stream.once('close', () => {
      streams.delete(stream)
      room.leave(...stream.holders)
      metrics.ended(stream.endReason ?? 'client')
    })
    // The id alone tells a client where it is before anything has happened.
    stream.send(`retry: ${retryMs()}\nid: ${stream.after}\n\n`, performance.now())
    if (stopping.aborted) stream.end('stopping')
    reader.added(stream)
    return stream
  }

  const parts = [reader, listener, beats]
  async function stop(): Promise<void> {
    for (const stream of streams) stream.cut('stopping')
    await Promise.all(parts.map((part) => part.stop()))
  }
  return { name: 'task-streams', start: async () => void parts.map((part) => part.start()), stop, open }
}

/** Who is late, and for whom it is time. Returns when to look again. */
function beat(streams: ReadonlySet<EventStream>): number {
  const nowMs = performance.now()
  for (const stream of streams) {
    if (stream.tokenEndsAtMs <= Date.now()) stream.end('token')
    if (stream.stuckForMs(nowMs) >= slowMs) stream.cut('slow')
    else if (stream.silentForMs(nowMs) >= silenceMs) stream.send(': still here\n\n', nowMs)
  }
  return beatMs
}

function endAll(streams: ReadonlySet<EventStream>): void {
  for (const stream of streams) stream.end('stopping')
}

// Streams of task changes: one socket each, bounded in number; one reader serves all. The client keeps its
// position and may resume at any replica, so a stopped process loses only connections.
import type { Readable } from 'node:stream'
import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { subjects } from '@matte/core/bus/streams'
import type { Db } from '@matte/core/db/database'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { readLastEventId } from '@matte/core/task/read-changes'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { capacityExceeded } from '../errors/error-handler.ts'
import { changeReader } from './change-reader.ts'
import { EventStream, type StreamOf } from './event-stream.ts'
import { createStreamMetrics, type RefusalReason } from './stream-metrics.ts'

const beatMs = 1_000
/** A comment at least every 15 s: some proxies close silent connections within a minute. */
const silenceMs = 14_000
/** A client that receives nothing for this long is disconnected; it can resume. */
const slowMs = 15_000
/** Reconnect delay, random because a stopping process ends all streams at once. */
const retryMs = () => 1_000 + Math.floor(Math.random() * 2_000)

export type TaskStreams = Service & {
  /** @throws MatteError RATE_LIMIT_EXCEEDED at the limit, a quarter of it per workspace or person */
  open(wanted: Omit<StreamOf, 'after'> & { readonly after: number | undefined }): Promise<Readable>
}

type StreamDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly streamsMax: number
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

export function taskStreams({ db, bus, streamsMax, stopping, registry, logger }: StreamDeps): TaskStreams {
  const streams = new Set<EventStream>()
  const slots = new SlotPool(streamsMax)
  const metrics = createStreamMetrics(registry, () => streams.size)
  const reader = changeReader({ db, open: streams, sent: metrics.sent, logger })
  const listener = listen({ bus, subject: subjects.change(bus.prefix), heard })
  const beats = repeat({ name: 'task-stream-beats', pass: async () => beat(streams) })
  stopping.addEventListener('abort', () => endAll(streams), { once: true })

  function heard(workspaceId: string): void {
    if (slots.holds(workspaceId)) reader.look(workspaceId)
  }

  function findRefusal({ workspaceId, holders }: Pick<StreamOf, 'workspaceId' | 'holders'>): RefusalReason | undefined {
    if (stopping.aborted) return 'stopping'
    if (slots.hasSlot(...holders)) return undefined
    if (slots.isFull) return 'replica'
    return slots.hasShare(workspaceId) ? 'person' : 'workspace'
  }

  const open: TaskStreams['open'] = async ({ after, ...of }) => {
    const refusal = findRefusal(of)
    if (refusal !== undefined) {
      metrics.refused(refusal)
      throw capacityExceeded()
    }
    slots.enter(...of.holders)
    try {
      const last = await readLastEventId(db, of.workspaceId)
      // A position beyond the last event comes from a history lost by restoring a backup.
      const stream = new EventStream({ ...of, after: Math.min(after ?? last, last) })
      of.outgoing.on('drain', () => reader.look(of.workspaceId))
      return begin(stream)
    } catch (error) {
      slots.leave(...of.holders)
      throw error
    }
  }

  function begin(stream: EventStream): EventStream {
    streams.add(stream)
    stream.once('close', () => {
      streams.delete(stream)
      slots.leave(...stream.holders)
      metrics.ended(stream.endReason ?? 'client')
    })
    // Tells the client its position before the first event.
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

/** Ends expired and slow streams, keeps silent ones alive. Returns the delay until the next check. */
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

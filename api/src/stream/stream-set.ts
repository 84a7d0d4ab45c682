// Open streams of one kind: one socket each, bounded in number; one reader serves all. The client keeps its position
// and may resume at any replica, so a stopped process loses only connections.
import type { Readable } from 'node:stream'
import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { subjects } from '@matte/core/bus/streams'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { capacityExceeded } from '../errors/error-handler.ts'
import { EventStream, type StreamOf } from './event-stream.ts'
import type { RefusalReason, StreamMetrics } from './stream-metrics.ts'
import { type StreamSource, streamReader } from './stream-reader.ts'

const beatMs = 1_000
/** A comment at least every 15 s: some proxies close silent connections within a minute. */
const silenceMs = 14_000
/** A client that receives nothing for this long is disconnected; it can resume. */
const slowMs = 15_000
/** Reconnect delay, random because a stopping process ends all streams at once. */
const retryMs = () => 1_000 + Math.floor(Math.random() * 2_000)

/** Position of a new stream, and the first server-sent event, if any. */
type Beginning = { readonly after: number; readonly greeting?: string }

export type StreamSet<Of extends StreamOf> = Service & {
  readonly streams: ReadonlySet<EventStream<Of>>
  /** @throws MatteError RATE_LIMIT_EXCEEDED at the limit, a quarter of it per holder */
  open(of: Of, begin: () => Promise<Beginning>): Promise<Readable>
}

type SetDeps<Of extends StreamOf, E extends { readonly position: number }> = {
  readonly name: string
  readonly bus: Bus
  readonly streamsMax: number
  readonly source: StreamSource<Of, E>
  readonly metricsOf: (openNow: () => number) => StreamMetrics
  readonly stopping: AbortSignal
  readonly logger: Logger
}

export function streamSet<Of extends StreamOf, E extends { readonly position: number }>(
  deps: SetDeps<Of, E>,
): StreamSet<Of> {
  const { name, bus, streamsMax, source, stopping, logger } = deps
  const streams = new Set<EventStream<Of>>()
  const slots = new SlotPool(streamsMax)
  const metrics = deps.metricsOf(() => streams.size)
  const reader = streamReader({ name, open: streams, source, sent: metrics.sent, logger })
  const listener = listen({ bus, subject: subjects.change(bus.prefix), heard })
  const beats = repeat({ name: `${name}-beats`, pass: async () => beat(streams) })
  stopping.addEventListener('abort', () => endAll(streams), { once: true })

  function heard(workspaceId: string): void {
    if (slots.holds(workspaceId)) reader.look(workspaceId)
  }

  function findRefusal({ workspaceId, holders }: StreamOf): RefusalReason | undefined {
    if (stopping.aborted) return 'stopping'
    if (slots.hasSlot(...holders)) return undefined
    if (slots.isFull) return 'replica'
    return slots.hasShare(workspaceId) ? 'person' : 'workspace'
  }

  const open: StreamSet<Of>['open'] = async (of, begin) => {
    const refusal = findRefusal(of)
    if (refusal !== undefined) {
      metrics.refused(refusal)
      throw capacityExceeded()
    }
    slots.enter(...of.holders)
    try {
      const { after, greeting = '\n' } = await begin()
      const stream = new EventStream(of, after)
      of.outgoing.on('drain', () => reader.look(of.workspaceId))
      return add(stream, greeting)
    } catch (error) {
      slots.leave(...of.holders)
      throw error
    }
  }

  function add(stream: EventStream<Of>, greeting: string): EventStream<Of> {
    streams.add(stream)
    stream.once('close', () => {
      streams.delete(stream)
      slots.leave(...stream.of.holders)
      metrics.ended(stream.endReason ?? 'client')
    })
    // Tells the client its position before the first event.
    stream.send(`retry: ${retryMs()}\nid: ${stream.after}\n${greeting}`, performance.now())
    if (stopping.aborted) stream.end('stopping')
    reader.added(stream.of.workspaceId)
    return stream
  }

  const parts = [reader, listener, beats]
  async function stop(): Promise<void> {
    for (const stream of streams) stream.cut('stopping')
    await Promise.all(parts.map((part) => part.stop()))
  }
  return { name, start: async () => void parts.map((part) => part.start()), stop, streams, open }
}

/** Ends expired and slow streams, keeps silent ones alive. Returns the delay until the next check. */
function beat(streams: ReadonlySet<EventStream>): number {
  const nowMs = performance.now()
  for (const stream of streams) {
    if ((stream.of.tokenEndsAtMs ?? Number.POSITIVE_INFINITY) <= Date.now()) stream.end('token')
    if (stream.stuckForMs(nowMs) >= slowMs) stream.cut('slow')
    // The position may have moved past events that the stream filters out.
    else if (stream.silentForMs(nowMs) >= silenceMs) stream.send(`: still here\nid: ${stream.after}\n\n`, nowMs)
  }
  return beatMs
}

function endAll(streams: ReadonlySet<EventStream>): void {
  for (const stream of streams) stream.end('stopping')
}

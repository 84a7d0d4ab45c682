// Streams of a workspace's webhooks, for API keys. Any replica serves a stream, from the events that
// `@matte/core/webhook/stream` stores while one is open and for a while afterwards.
import type { Readable } from 'node:stream'
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Service } from '@matte/core/runtime/service'
import type { WebhookEvent } from '@matte/core/webhook/events'
import { sampleHeader } from '@matte/core/webhook/sample-event'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { deleteStreamedEvents } from '@matte/core/webhook/stream/delete-streamed'
import {
  findUnnumbered,
  numberEvents,
  openWebhookStream,
  readStreamedEvents,
  renewWebhookStreams,
  type StreamedEvent,
} from '@matte/core/webhook/stream/stream-queries'
import { readStreamSecret } from '@matte/core/webhook/stream/stream-secret'
import { findLiveKeys } from '@matte/core/workspace/caller-queries'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { StreamOf } from './event-stream.ts'
import { createStreamMetrics, webhookStreamMetrics } from './stream-metrics.ts'
import type { StreamSource } from './stream-reader.ts'
import { type StreamSet, streamSet } from './stream-set.ts'

/** An open stream counts as closed 30 s after its last renewal. */
const renewEveryMs = 10_000
const cleanEveryMs = 60_000

type WebhookStreamOf = StreamOf & {
  readonly apiKeyId: string
  /** Empty: all. */
  readonly eventTypes: readonly WebhookEvent[]
  readonly secret: string
}

type Wanted = Omit<WebhookStreamOf, 'secret'> & { readonly after: number | undefined }

export type WebhookStreams = Service & {
  /** @throws MatteError RATE_LIMIT_EXCEEDED at the limit, a quarter of it per workspace */
  open(wanted: Wanted): Promise<Readable>
}

type StreamDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly masterKeys: MasterKeys
  readonly plans: Plans
  readonly streamsMax: number
  readonly keptMinutes: number
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

export function webhookStreams(deps: StreamDeps): WebhookStreams {
  const { db, masterKeys, keptMinutes, registry } = deps
  const metricsOf = (openNow: () => number) => createStreamMetrics(webhookStreamMetrics, registry, openNow)
  const set = streamSet({ ...deps, name: 'webhook-streams', source: webhookSource(deps), metricsOf })
  const loops = upkeep(deps, set)
  return {
    name: set.name,
    start: async () => {
      await set.start()
      for (const each of loops) await each.start()
    },
    stop: async () => {
      await Promise.all([set, ...loops].map((each) => each.stop()))
    },
    open: async ({ after, ...wanted }) => {
      const secret = await readStreamSecret(db, masterKeys, wanted.workspaceId)
      return set.open({ ...wanted, secret }, async () => {
        const opened = await openWebhookStream(db, { workspaceId: wanted.workspaceId, keptMinutes, after })
        const { since, complete } = opened
        const ready = { secret, since: since.toISOString(), eventTypes: wanted.eventTypes, complete }
        return { after: opened.after, greeting: `event: ready\ndata: ${JSON.stringify(ready)}\n\n` }
      })
    },
  }
}

function upkeep({ db, keptMinutes, logger }: StreamDeps, { streams }: StreamSet<WebhookStreamOf>): Service[] {
  const renew = async () => {
    const workspaceIds = [...new Set([...streams].map(({ of }) => of.workspaceId))]
    if (workspaceIds.length > 0) await renewWebhookStreams(db, workspaceIds, keptMinutes)
    return {}
  }
  const clean = async (signal: AbortSignal) => ({ deleted: await deleteStreamedEvents(db, keptMinutes, signal) })
  return [
    loop({ name: 'webhook-stream-renewal', everyMs: renewEveryMs, run: renew, logger }),
    loop({ name: 'webhook-stream-cleaner', everyMs: cleanEveryMs, run: clean, logger }),
  ]
}

function webhookSource({ db, plans }: StreamDeps): StreamSource<WebhookStreamOf, StreamedEvent> {
  return {
    permitted: async (streams) => {
      const ids = new Set(streams.map(({ of }) => of.apiKeyId))
      const keys = await findLiveKeys(db, [...ids], 'webhooks:listen')
      const live = new Set(keys.filter(({ plan }) => plans[plan]?.apiAccess).map(({ apiKeyId }) => apiKeyId))
      return new Set(streams.filter(({ of }) => live.has(of.apiKeyId)))
    },
    read: async (places, limit) => {
      const workspaceIds = [...new Set(places.map(({ workspaceId }) => workspaceId))]
      const unnumbered = await findUnnumbered(db, workspaceIds)
      if (unnumbered.length > 0) await numberEvents(db, unnumbered)
      return readStreamedEvents(db, places, limit)
    },
    render: (events) => (of) => {
      const wanted = events.filter(({ event }) => wants(of, event))
      return { text: wanted.map((event) => toText(of, event)).join(''), count: wanted.length }
    },
  }
}

const wants = ({ eventTypes }: WebhookStreamOf, event: string): boolean =>
  eventTypes.length === 0 || eventTypes.some((each) => each === event)

/** Signed at sending, so a receiver accepts the timestamp of a resumed event too. */
function toText({ secret }: WebhookStreamOf, { id, event, body, isSample, position, now }: StreamedEvent): string {
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Matte-Webhook/1',
    ...(isSample && sampleHeader),
    ...signatureHeaders({ secret, id, timestamp: now, body }),
  }
  return `id: ${position}\nevent: webhook\ndata: ${JSON.stringify({ event, body, headers })}\n\n`
}

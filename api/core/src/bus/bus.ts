// NATS connection, made in the background and retried forever, because no process depends on it.
import { readFileSync } from 'node:fs'
import { connect, credsAuthenticator, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import type { Logger } from 'pino'
import { repeat } from '../runtime/loop.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import type { Service } from '../runtime/service.ts'
import { busMetrics } from './bus-metrics.ts'
import { readNatsUrls } from './nats-urls.ts'

/** Servers of NATS, and how this installation uses them (bus-settings.ts). */
export type BusAccess = {
  readonly url: string
  readonly prefix: string
  /** Copies of each stream; 1 by default. */
  readonly replicas?: number
  readonly credsFile?: string
  readonly clientCertificate?: { readonly certFile: string; readonly keyFile: string }
}

type BusOptions = BusAccess & {
  readonly logger: Logger
  readonly name: string
  readonly metrics?: EdgeMetrics
}

export type Bus = Service & {
  readonly prefix: string
  readonly replicas: number
  readonly logger: Logger
  connection(): NatsConnection | undefined
}

const reconnectMs = 500

export function openBus({ prefix, replicas = 1, logger, name, metrics, ...access }: BusOptions): Bus {
  let live: NatsConnection | undefined
  const state = observeBus(metrics)
  let reported = false

  async function connectAndWatch(signal: AbortSignal): Promise<number> {
    try {
      live = await connect({
        ...readAccess(access),
        name,
        maxReconnectAttempts: -1, // the default gives up after 20 s
        reconnectTimeWait: reconnectMs,
        pingInterval: 20_000,
        timeout: 2_000,
        noAsyncTraces: true,
      })
      // The process stopped while this connected.
      if (signal.aborted) await live.close()
      else {
        reported = false
        state.connected = true
        logger.info({ server: live.getServer() }, 'bus connected')
        await watch(live)
      }
    } catch (error) {
      if (!signal.aborted) metrics?.failed('nats', error)
      // Logged once per outage: work continues by timers, so only latency would show it.
      if (!signal.aborted && !reported) logger.warn({ err: error }, 'bus not reachable')
      reported = true
    }
    live = undefined
    state.connected = false
    return reconnectMs
  }

  async function watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') logger.warn('bus disconnected')
      if (status.type === 'reconnect') logger.info('bus reconnected')
      if (status.type === 'error') metrics?.failed('nats', status.error)
      if (status.type === 'disconnect') metrics?.failed('nats', 'disconnected')
      if (status.type === 'disconnect' || status.type === 'reconnect') state.connected = status.type === 'reconnect'
      if (status.type === 'close') return
    }
  }

  const connecting = repeat({ name: 'bus', pass: connectAndWatch })
  return {
    name: connecting.name,
    prefix,
    replicas,
    logger,
    start: connecting.start,
    stop: async () => {
      const stopped = connecting.stop()
      await live?.close().catch(() => undefined)
      await stopped
    },
    connection: () => (live?.isClosed() ? undefined : live),
  }
}

/** Files are read at each connection, so renewed ones need no restart. */
function readAccess({ url, credsFile, clientCertificate }: Omit<BusAccess, 'prefix'>): NodeConnectionOptions {
  return {
    ...readNatsUrls(url),
    ...(clientCertificate !== undefined && { tls: clientCertificate }),
    ...(credsFile !== undefined && { authenticator: credsAuthenticator(latest(credsFile)) }),
  }
}

/** Contents of a file; its last readable contents while a volume replaces it. */
function latest(file: string): () => Uint8Array {
  let contents = readFileSync(file)
  return () => {
    try {
      contents = readFileSync(file)
    } catch {}
    return contents
  }
}

/** `connected` is also false while the client reconnects. */
function observeBus(metrics: EdgeMetrics | undefined): { connected: boolean } {
  const state = { connected: false }
  if (metrics) busMetrics.connected.register(metrics.registry, (metric) => metric.set(Number(state.connected)))
  return state
}

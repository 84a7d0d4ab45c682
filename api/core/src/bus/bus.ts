// The connection to NATS: made in the background and remade forever, since no process needs it to do its work.
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Logger } from 'pino'
import { pause, type Service } from '../runtime/service.ts'

type BusOptions = {
  readonly url: string
  readonly prefix: string
  readonly logger: Logger
  readonly name: string
}

export type Bus = Service & {
  readonly prefix: string
  /** The live connection, or undefined while there is none. */
  connection(): NatsConnection | undefined
}

export function openBus({ url, prefix, logger, name }: BusOptions): Bus {
  const stopping = new AbortController()
  let live: NatsConnection | undefined
  let running: Promise<void> | undefined

  async function forever(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        live = await connect({
          servers: url.split(','),
          name,
          maxReconnectAttempts: -1, // the default gives up after 20 s
          reconnectTimeWait: 500,
          pingInterval: 20_000,
          timeout: 2_000,
          noAsyncTraces: true,
        })
        // A stop that came while this was connecting found nothing to close.
        if (stopping.signal.aborted) await live.close()
        else {
          logger.info({ server: live.getServer() }, 'bus connected')
          await watch(live)
        }
      } catch (error) {
        if (!stopping.signal.aborted) logger.debug({ err: error }, 'bus not reachable')
      }
      live = undefined
      await pause(500, stopping.signal)
    }
  }

  async function watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') logger.warn('bus disconnected')
      if (status.type === 'reconnect') logger.info('bus reconnected')
      if (status.type === 'close') return
    }
  }

  return {
    name: 'bus',
    prefix,
    start: () => {
      running ??= forever()
    },
    stop: async () => {
      stopping.abort()
      await live?.close().catch(() => undefined)
      await running
    },
    connection: () => (live?.isClosed() ? undefined : live),
  }
}

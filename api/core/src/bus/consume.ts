// Pulls nudges: owns stream, consumer, backoff and stop. A nudge is acked at once and only wakes its service. After any
// failure, it ensures stream and consumer again and continues. A timer elsewhere covers a lost nudge.
import {
  AckPolicy,
  type Consumer,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Logger } from 'pino'
import { repeat } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { markSpan } from '../runtime/tracing.ts'
import type { Bus } from './bus.ts'
import { type Durable, type StreamName, streamConfig, streamName } from './streams.ts'

export type NudgeMessage = { readonly subject: string; readonly id: string; readonly traceparent?: string }

type ConsumeOptions = {
  readonly bus: Bus
  readonly durable: Durable
  readonly logger: Logger
  /** Resolves when the service has a free slot, so nudges go to other replicas until then. */
  readonly ready?: (signal: AbortSignal) => Promise<void>
  readonly wake: (message: NudgeMessage) => void
}

const pullMs = 20_000
/** Pause after a failure or without a connection. */
const retryMs = 500

export function consume({ bus, durable, logger, ready, wake }: ConsumeOptions): Service {
  async function pullFrom(consumer: Consumer, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await ready?.(signal)
      if (signal.aborted) return
      const message = await orStopped(consumer.next({ expires: pullMs }), signal)
      if (!message) continue
      message.ack()
      const traceparent = message.headers?.get('traceparent')
      const attributes = { 'messaging.destination.name': message.subject }
      if (traceparent) markSpan('nudge.receive', { kind: 'consumer', attributes, traceparent })
      wake({ subject: message.subject, id: message.string(), ...(traceparent && { traceparent }) })
    }
  }

  async function pullWhileConnected(signal: AbortSignal): Promise<number> {
    const connection = bus.connection()
    try {
      if (connection) await pullFrom(await ensureConsumer(connection, bus, durable), signal)
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error, durable: durable.name }, 'pulling nudges failed')
    }
    return retryMs
  }

  return repeat({ name: `nudges-${durable.name}`, pass: pullWhileConnected })
}

async function ensureConsumer(connection: NatsConnection, owner: StreamOwner, durable: Durable): Promise<Consumer> {
  await ensureStream(connection, owner, 'nudges')
  const manager = await jetstreamManager(connection)
  const stream = streamName(owner.prefix, 'nudges')
  await manager.consumers.add(stream, {
    durable_name: durable.name,
    filter_subject: durable.filter,
    ack_policy: AckPolicy.Explicit,
    max_deliver: 3,
  })
  return jetstream(connection).consumers.get(stream, durable.name)
}

type StreamOwner = Pick<Bus, 'prefix' | 'replicas' | 'logger'>

/** Creates or updates the stream; uses files if the server grants streams no memory, the default of NATS' chart. */
export async function ensureStream(connection: NatsConnection, owner: StreamOwner, name: StreamName): Promise<void> {
  const manager = await jetstreamManager(connection)
  const { storage, ...config } = streamConfig(owner, name)
  const known = await manager.streams.info(config.name).catch(() => undefined)
  if (known) {
    await manager.streams.update(config.name, config).catch((error: unknown) => {
      // Such as three copies on two servers: the stream works with its former settings until there are three.
      if (!(error instanceof JetStreamApiError)) throw error
      owner.logger.warn({ err: error, stream: config.name }, 'stream was not updated')
    })
    return
  }
  await manager.streams.add({ ...config, storage }).catch(async (error: unknown) => {
    if (!isOutOfMemory(error)) throw error
    await manager.streams.add({ ...config, storage: StorageType.File })
  })
}

/** JetStream's JSMemoryResourcesExceededErr. */
const isOutOfMemory = (error: unknown): boolean => error instanceof JetStreamApiError && error.code === 10_028

/** The pull, or null as soon as the service stops; a later error of the pull is ignored. */
function orStopped<T>(pull: Promise<T | null>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(null)
    signal.addEventListener('abort', stop, { once: true })
    pull.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

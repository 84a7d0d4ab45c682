// NATS for tests: a prefix per file separates streams and subjects on the shared server.
import { randomBytes } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'

export const newPrefix = (): string => `t${randomBytes(6).toString('hex')}`

export async function removeStreams(url: string, prefix: string): Promise<void> {
  await withNats(url, async (connection) => {
    const manager = await jetstreamManager(connection)
    for await (const name of manager.streams.names()) {
      if (name.startsWith(`${prefix}-`)) await manager.streams.delete(name)
    }
  })
}

/** A separate connection, closed after `act`. */
export async function withNats<T>(url: string, act: (connection: NatsConnection) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: url })
  try {
    return await act(connection)
  } finally {
    await connection.close()
  }
}

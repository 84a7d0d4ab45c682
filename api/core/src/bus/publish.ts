import { jetstream } from '@nats-io/jetstream'
import type { Bus } from './bus.ts'
import { ensureStream } from './consume.ts'
import { subjects } from './streams.ts'

type StoredMessage = { readonly modelVersion: string; readonly body: unknown; readonly id: string }

/** Stores a message in the dead-letter stream, once per id within ten minutes. Rejects without a connection. */
export async function publishDeadLetter(bus: Bus, { modelVersion, body, id }: StoredMessage): Promise<void> {
  const connection = bus.connection()
  if (connection === undefined) throw new Error('bus not connected')
  await ensureStream(connection, bus, 'dead-letters')
  await jetstream(connection).publish(subjects.deadLetter(bus.prefix, modelVersion), JSON.stringify(body), {
    msgID: id,
  })
}

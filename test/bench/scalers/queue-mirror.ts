// A JetStream stream whose lag is a workspace's number of open tasks. Matte's own stream has no lag to scale by: a
// worker acknowledges a nudge at once and claims from PostgreSQL (D39).
import type { Db } from '@matte/core/db/database'
import { repeat } from '@matte/core/runtime/loop'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

export type QueueMirror = { readonly stream: string; readonly consumer: string; stop(): Promise<void> }

/** Follows the database in this interval, in milliseconds. */
const everyMs = 200

export async function startQueueMirror(
  natsUrl: string,
  { db, workspaceId, name }: { readonly db: Db; readonly workspaceId: string; readonly name: string },
): Promise<QueueMirror> {
  const connection = await connect({ servers: natsUrl })
  const manager = await jetstreamManager(connection)
  const subject = `bench.${name}`
  const consumer = 'pods'
  await manager.streams.add({ name, subjects: [subject] })
  await manager.consumers.add(name, { durable_name: consumer, ack_policy: AckPolicy.Explicit })
  const client = jetstream(connection)
  const messages = await client.consumers.get(name, consumer)
  let lag = 0
  let failure: unknown

  async function follow(): Promise<void> {
    const rows = await db
      .selectFrom('task')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('status', 'in', ['queued', 'processing'])
      .execute()
    for (; lag < rows.length; lag++) await client.publish(subject)
    while (lag > rows.length) {
      const message = await messages.next({ expires: 1_000 })
      if (message === null) throw new Error(`the mirror ${name} has lost a message`)
      await message.ackAck()
      lag--
    }
  }

  async function pass(): Promise<number> {
    await follow().catch((error: unknown) => {
      failure ??= error
    })
    return everyMs
  }

  const loop = repeat({ name: 'mirror', pass })
  void loop.start()
  return {
    stream: name,
    consumer,
    stop: async () => {
      await loop.stop()
      if (failure !== undefined) throw failure
      await manager.streams.delete(name)
      await connection.close()
    },
  }
}

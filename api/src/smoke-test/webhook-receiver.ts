// Receives webhooks for `helm test`. While it listens, the dispatcher may call this private address.
import { createServer } from 'node:http'
import type { Connection } from '@matte/core/database-settings'
import { openDatabase } from '@matte/core/db/database'
import { readSettings, writeSetting } from '@matte/core/setting/setting-queries'
import { serviceSignature } from '@matte/core/webhook/signature'
import { parseAllowedTarget } from '@matte/core/webhook/target/target-url'
import { pino } from 'pino'

type Delivery = { readonly signature: string; readonly body: string }

type WebhookReceiver = {
  readonly url: string
  delivered(taskId: string): Promise<Delivery>
  close(): Promise<void>
}

type ReceiverOptions = {
  readonly host: string
  readonly port: number
  readonly database: Connection
}

export async function openReceiver({ host, port, database }: ReceiverOptions): Promise<WebhookReceiver> {
  const waiting = new Map<string, (delivery: Delivery) => void>()
  const arrived = new Map<string, Delivery>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const delivery = { signature: String(request.headers['x-service-signature'] ?? ''), body }
      const { task_id: taskId = '' } = JSON.parse(body) as { task_id?: string }
      arrived.set(taskId, delivery)
      waiting.get(taskId)?.(delivery)
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, resolve))
  const closeGuard = await openGuard(database, `${host}:${port}`)
  return {
    url: `http://${host}:${port}/`,
    delivered: async (taskId) => {
      const known = arrived.get(taskId)
      return known ?? (await new Promise<Delivery>((resolve) => waiting.set(taskId, resolve)))
    },
    close: async () => {
      await closeGuard()
      server.closeAllConnections()
      server.close()
    },
  }
}

export function isSignedBy(secret: string, { signature, body }: Delivery): boolean {
  const timestamp = /^t=(\d+),/.exec(signature)?.[1]
  return timestamp !== undefined && serviceSignature(secret, Number(timestamp), body) === signature
}

/** Allows one private target and returns a function that revokes it; other targets in the setting stay. */
async function openGuard(connection: Connection, wanted: string): Promise<() => Promise<void>> {
  const target = parseAllowedTarget(wanted)
  if (target === undefined) throw new Error(`${wanted} is not a target`)
  const logger = pino({ level: 'warn' }, pino.destination(2))
  const database = openDatabase({ ...connection, poolMax: 1, logger, applicationName: 'matte-try' })
  const change = async (edit: (targets: readonly string[]) => readonly string[]): Promise<void> => {
    const { allowedTargets } = await readSettings(database.db)
    await writeSetting(database.db, 'webhooks.allowedTargets', edit(allowedTargets))
  }
  await change((targets) => [...new Set([...targets, target])])
  return async () => {
    await change((targets) => targets.filter((each) => each !== target))
    await database.stop()
  }
}

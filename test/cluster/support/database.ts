// Access to the built-in PostgreSQL through the kubelet, because the NetworkPolicies deny other connections.
import { type Db, openDatabase } from '@matte/core/db/database'
import { pino } from 'pino'
import { openForward } from './forward.ts'
import type { Release } from './release.ts'

type Connected = AsyncDisposable & { readonly db: Db }

export async function connectToDatabase({ namespace, kubectl }: Release): Promise<Connected> {
  const secret = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.DATABASE_URL}')
  const url = new URL(Buffer.from(secret, 'base64').toString())
  const forward = await openForward(['-n', namespace, 'port-forward', 'pod/matte-postgresql-0', ':5432'])
  url.host = `127.0.0.1:${forward.port}`
  const logger = pino({ level: 'silent' })
  const database = openDatabase({ url: url.href, poolMax: 2, logger, applicationName: 'matte-test' })
  return {
    db: database.db,
    [Symbol.asyncDispose]: async () => {
      await database.stop()
      await forward[Symbol.asyncDispose]()
    },
  }
}

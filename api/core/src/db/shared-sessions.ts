// Detects poolers in transaction mode. Session locks, settings and prepared statements do not belong to one connection
// there, so the process refuses to start.
import pg from 'pg'
import { ConfigError } from '../runtime/env.ts'
import { processOf } from './stuck-connections.ts'

/** A pooler with more idle sessions than connections may switch sessions only after several statements. */
const rounds = 8

/** @throws ConfigError with `advice` if a pooler shares the session */
export async function refuseSharedSession(client: pg.ClientBase, config: pg.ClientConfig, advice: string) {
  // PostgreSQL reports its process id to the connection; a pooler makes one up.
  if ((await askProcess(client)) === processOf(client)) return
  if (await isShared(client, config)) {
    throw new ConfigError(`a pooler shares the database's sessions among connections: ${advice}`)
  }
}

/** A second connection holds a transaction, so its server process cannot be the first one's. */
async function isShared(first: pg.ClientBase, config: pg.ClientConfig): Promise<boolean> {
  const second = new pg.Client({ ...config, query_timeout: 3_000 })
  second.on('error', () => undefined)
  try {
    await second.connect()
    for (let round = 0; round < rounds; round++) {
      const before = await askProcess(first)
      await second.query('begin')
      const held = await askProcess(second)
      // In this order, because the first connection would wait if the held session is the only one.
      if (held === before || before !== (await askProcess(first))) return true
      await second.query('commit')
      // A different number of statements each round, for poolers that rotate sessions.
      for (let statement = 0; statement < round; statement++) await askProcess(first)
    }
    return false
  } finally {
    await second.end().catch(() => undefined)
  }
}

async function askProcess(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

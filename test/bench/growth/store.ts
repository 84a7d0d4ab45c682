// The PostgreSQL server of the growth rows, and its databases: one per cell, kept between runs in a folder.
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '@matte/core/db/database'
import { migrateToLatest } from '@matte/core/db/migrate'
import { installPostgres, startPostgres } from '@matte/local/servers/postgres'
import pg from 'pg'
import { pino } from 'pino'
import { freePorts } from '../../support/free-ports.ts'
import { type Cell, fill } from './fill.ts'

/** For a server that shares 24 GiB; docs/operations/sizing.md has the rule for others. */
export const settings = {
  shared_buffers: '1GB',
  effective_cache_size: '6GB',
  work_mem: '16MB',
  maintenance_work_mem: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  shared_preload_libraries: 'pg_stat_statements',
} as const

/** While rows are written, nothing has to survive a crash. */
const fillSettings = {
  ...settings,
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '1GB',
  autovacuum: 'off',
} as const

type Say = (line: string) => void

export type Server = { readonly url: (database: string) => string; stop(): Promise<unknown> }

/** `extra` replaces settings. The folder is created, and readable for the server's user. */
export async function startServer(dir: string, extra: Readonly<Record<string, string>> = {}): Promise<Server> {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o755)
  const [port = 0] = await freePorts(1)
  const server = await startPostgres({
    lifetime: 'attached',
    logFile: join(dir, 'postgres.log'),
    installation: await installPostgres(),
    dataDir: join(dir, 'data'),
    port,
    password: 'bench',
    settings: { ...settings, ...extra },
  })
  const url = (database: string): string => Object.assign(new URL(server.url), { pathname: database }).href
  return { url, stop: () => server.stop() }
}

/** Creates the cell's database unless the folder has it, and drops those that `stays` does not name. */
export async function prepareCell(dir: string, cell: Cell, stays: readonly Cell[], say: Say): Promise<void> {
  const server = await startServer(dir, fillSettings)
  try {
    const name = databaseOf(cell)
    const keep = [...stays.map(databaseOf), name]
    const present = await listDatabases(server)
    for (const old of present.filter((each) => !keep.includes(each))) await dropDatabase(server, old)
    if (!present.includes(name)) await createCell(server, cell, say)
    await migrate(server.url(name))
  } finally {
    await server.stop()
  }
}

async function createCell(server: Server, cell: Cell, say: Say): Promise<void> {
  const name = databaseOf(cell)
  const unfinished = `${name}_new`
  const begun = performance.now()
  await createEmpty(server, unfinished)
  say(`${name}: writing`)
  await fill(server.url(unfinished), cell, (line) => say(`${name}: ${line}`))
  await asAdmin(server, `alter database ${unfinished} rename to ${name}`)
  say(`${name}: ready after ${((performance.now() - begun) / 1000).toFixed(0)} s`)
}

/** Replaces the database by an empty, migrated one. */
export async function createEmpty(server: Server, name: string): Promise<void> {
  await dropDatabase(server, name)
  await asAdmin(server, `create database ${name} template template0`)
  await migrate(server.url(name))
}

async function migrate(url: string): Promise<void> {
  const { db, stop } = connectTo(url)
  try {
    await migrateToLatest(db)
  } finally {
    await stop()
  }
  await query(url, 'create extension if not exists pg_stat_statements')
}

/** Another generator makes another name; a newer schema is migrated to. */
const generator = createHash('sha256')
  .update(readFileSync(new URL('./fill.ts', import.meta.url)))
  .digest('hex')
  .slice(0, 8)

export const databaseOf = ({ tasks, workspaces }: Cell): string => `growth_${tasks}_${workspaces}_${generator}`

/** A single connection, as a busy one of a process. */
export const connectTo = (url: string, poolMax = 1): Database =>
  openDatabase({ url, poolMax, logger: pino({ level: 'silent' }), applicationName: 'matte-bench' })

async function listDatabases(server: Server): Promise<string[]> {
  const rows = await query<{ name: string }>(
    server.url('postgres'),
    `select datname as name from pg_database where datname like 'growth\\_%'`,
  )
  return rows.map(({ name }) => name)
}

export const dropDatabase = (server: Server, name: string): Promise<unknown> =>
  asAdmin(server, `drop database if exists ${name} with (force)`)

const asAdmin = (server: Server, statement: string): Promise<unknown> => query(server.url('postgres'), statement)

export async function query<R extends pg.QueryResultRow>(url: string, statement: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<R>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Processor time of a server process of this machine; it stays comparable when others use the processors too. */
export const readCpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

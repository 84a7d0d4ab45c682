// Write-ahead log and pages of a task's life with random ids and with ids ordered by time, in a database that is large
// already. Each part begins after a checkpoint: the first change of a page then logs the whole page.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import type { Row } from '../row.ts'
import { liveOne } from './load.ts'
import { findMeasured } from './operations.ts'
import { connectTo } from './store.ts'

const kinds = { random: 'gen_random_uuid()', byTime: 'uuid_by_time()' } as const
const tables = ['task', 'upload', 'delivery'] as const

const tasks = 500

export async function measureIds(url: string, name: string): Promise<Row[]> {
  const database = connectTo(url)
  const { db } = database
  try {
    const workspaceId = await findMeasured(db)
    const random = await measureKind(db, workspaceId, kinds.random)
    const byTime = await measureKind(db, workspaceId, kinds.byTime)
    return [
      {
        name: `write-ahead log of a task, ids by time ÷ random ids, ${name}`,
        ratio: byTime.bytes / random.bytes,
        target: { atMost: 0.6 },
        detail: `${textOf(byTime)}; random: ${textOf(random)}`,
      },
    ]
  } finally {
    await setDefault(db, kinds.byTime)
    await database.stop()
  }
}

type Log = { readonly bytes: number; readonly images: number; readonly read: number }

const textOf = ({ bytes, images, read }: Log): string =>
  `${(bytes / 1_000).toFixed(1)} KB, ${images.toFixed(1)} page images, ${read.toFixed(1)} reads`

async function setDefault(db: Db, expression: string): Promise<void> {
  for (const table of tables)
    await sql.raw(`alter table ${table} alter column id set default ${expression}`).execute(db)
}

/** Per task. */
async function measureKind(db: Db, workspaceId: string, expression: string): Promise<Log> {
  await setDefault(db, expression)
  for (let i = 0; i < 20; i++) await liveOne(db, workspaceId)
  await sql`checkpoint`.execute(db)
  const before = await readLog(db)
  for (let i = 0; i < tasks; i++) await liveOne(db, workspaceId)
  const after = await readLog(db)
  const per = (what: keyof Log): number => (after[what] - before[what]) / tasks
  return { bytes: per('bytes'), images: per('images'), read: per('read') }
}

async function readLog(db: Db): Promise<Log> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<Log>`
    select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes,
           (select wal_fpi from pg_stat_wal)::float8 as images,
           (select blks_read from pg_stat_database where datname = current_database())::float8 as read`.execute(db)
  return rows[0] ?? { bytes: Number.NaN, images: Number.NaN, read: Number.NaN }
}

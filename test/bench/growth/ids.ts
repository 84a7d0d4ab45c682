// Write-ahead log and pages of a task's life with random ids and with ids ordered by time, in a database that is large
// already. Each part begins after a checkpoint: the first change of a page then logs the whole page.
import { sql } from 'kysely'
import type { Cell } from './fill.ts'
import { liveOne } from './load.ts'
import { findMeasured } from './operations.ts'
import { connectTo, databaseOf, type Server } from './store.ts'

const kinds = { random: 'gen_random_uuid()', 'by time': 'uuid_by_time()' } as const
const tables = ['task', 'upload', 'delivery'] as const

export async function measureIds(server: Server, cell: Cell, tasks: number): Promise<string[]> {
  const database = connectTo(server.url(databaseOf(cell)))
  const { db } = database
  const lines: string[] = []
  try {
    const workspaceId = await findMeasured(db)
    for (const [name, expression] of Object.entries(kinds)) {
      for (const table of tables)
        await sql.raw(`alter table ${table} alter column id set default ${expression}`).execute(db)
      for (let i = 0; i < 20; i++) await liveOne(db, workspaceId)
      await sql`checkpoint`.execute(db)
      const before = await readWal()
      const begun = performance.now()
      for (let i = 0; i < tasks; i++) await liveOne(db, workspaceId)
      const ms = (performance.now() - begun) / tasks
      const after = await readWal()
      const per = (what: 'bytes' | 'images' | 'read'): string => ((after[what] - before[what]) / tasks).toFixed(1)
      lines.push(
        `ids ${name}: ${per('bytes')} bytes of log, ${per('images')} page images, ${per('read')} reads, ${ms.toFixed(1)} ms a task`,
      )
    }
  } finally {
    for (const table of tables)
      await sql.raw(`alter table ${table} alter column id set default ${kinds['by time']}`).execute(db)
    await database.stop()
  }
  return lines

  async function readWal() {
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const { rows } = await sql<{ bytes: number; images: number; read: number }>`
      select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes,
             (select wal_fpi from pg_stat_wal)::float8 as images,
             (select blks_read from pg_stat_database where datname = current_database())::float8 as read`.execute(db)
    return rows[0] ?? { bytes: 0, images: 0, read: 0 }
  }
}

// Size of the tables that are updated most, after ten updates of each row, beside their size before. The
// updates are those of the service. Autovacuum looks once a second, because the updates of days run within minutes.
import pg from 'pg'
import type { Row } from '../row.ts'
import { createEmpty, dropDatabase, query, startServer } from './store.ts'

const updatesPerRow = 10
const perStatement = 500

type Table = {
  readonly name: string
  readonly insert: string
  /** Statements that take turns; `$1` is a list of ids. */
  readonly updates: readonly string[]
}

const tablesOf = (series: string): readonly Table[] => [
  {
    name: 'workspace',
    insert: `insert into workspace (id, name, plan) select md5('w' || n)::uuid, 'w', 'pro' from ${series}`,
    updates: [
      `update workspace set open_singles = open_singles + 1, queued = queued + 1, quota_used = quota_used + 1
        where id = any($1)`,
      `update workspace set queued = queued - 1, processing = processing + 1 where id = any($1) and queued > 0`,
      `update workspace set open_singles = open_singles - 1, processing = processing - 1
        where id = any($1) and processing > 0`,
    ],
  },
  {
    name: 'credit_lot',
    insert: `insert into credit_lot (workspace_id, kind, granted, available)
             select md5('w' || n)::uuid, 'bloat', 1000, 1000 from ${series}`,
    updates: [
      `update credit_lot set available = available - 1, held = held + 1 where id = any($1)`,
      `update credit_lot set held = held - 1, spent = spent + 1 where id = any($1) and held > 0`,
    ],
  },
  {
    name: 'task',
    insert: `insert into task (workspace_id, model_version, upload_id, source_key, source_etag, source_size_bytes,
                               credit_cost, callback_url, status, started_at, completed_at, width, height, result_format,
                               result_size_bytes, result_key)
             select md5('w' || n % 1000)::uuid, 'service-v2', md5('u' || n)::uuid,
                    'private-uploads/2026/01/' || md5('u' || n) || '-photo.png', '"' || md5('e' || n) || '"', 400000, 1,
                    'https://receiver.example.com/hooks/matte?tenant=42', 'succeeded', now(), now(), 1200, 800, 'png',
                    300000, 'results/2026/01/' || md5('u' || n) || '/1-' || md5('u' || n) || '-0000.png' from ${series}`,
    updates: [
      `update task set status = 'queued', completed_at = null, started_at = null, result_key = null, queued_at = now()
        where id = any($1)`,
      `update task set status = 'processing', claim = gen_random_uuid(), claimed_until = now() + interval '15 s',
              attempt = attempt + 1, due_at = now(), started_at = coalesce(started_at, now()) where id = any($1)`,
      `update task set claimed_until = now() + interval '15 s' where id = any($1) and status = 'processing'`,
      `update task set status = 'succeeded', completed_at = now(), claim = null, claimed_until = null, width = 1200,
              height = 800, result_format = 'png', result_size_bytes = 300000,
              result_key = 'results/2026/01/' || id || '/1-' || id || '.png' where id = any($1)`,
    ],
  },
  {
    name: 'delivery',
    insert: `insert into delivery (workspace_id, task_id, run, event, event_key, target_url, target_host, body)
             select md5('w' || n % 1000)::uuid, md5('t' || n)::uuid, 1, 'task.succeeded', n || '.1',
                    'https://receiver.example.com/hooks/matte?tenant=42', 'receiver.example.com:443',
                    repeat('{"a task": 1}', 40) from ${series}`,
    updates: [
      `update delivery set attempt = attempt + 1, claim = gen_random_uuid(), claimed_until = now() + interval '30 s'
        where id = any($1)`,
      `update delivery set status = 'delivered', claim = null, claimed_until = null, completed_at = now()
        where id = any($1)`,
      `update delivery set status = 'pending', completed_at = null, due_at = now(), ready = true where id = any($1)`,
    ],
  },
]

type BloatOptions = { readonly dir: string; readonly rows: number; readonly say: (line: string) => void }

export async function measureBloat({ dir, rows, say }: BloatOptions): Promise<Row[]> {
  const server = await startServer(dir, { autovacuum_naptime: '1s', autovacuum_max_workers: '3' })
  const database = 'bloat'
  const url = server.url(database)
  try {
    await createEmpty(server, database)
    const measured: Row[] = []
    for (const table of tablesOf(`generate_series(1, ${rows}) as s (n)`)) {
      const row = await measureTable(url, table, rows)
      say(`${row.name}: ${row.ratio.toFixed(2)} (${row.detail})`)
      measured.push(row)
    }
    return measured
  } finally {
    await dropDatabase(server, database)
    await server.stop()
  }
}

async function measureTable(url: string, { name, insert, updates }: Table, rows: number): Promise<Row> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('set session_replication_role = replica; set synchronous_commit = off')
    await client.query(insert)
    await client.query(`vacuum analyze ${name}`)
    const sizes = async (): Promise<{ heap: number; indexes: number }> => {
      const [row] = await query<{ heap: number; indexes: number }>(
        url,
        `select pg_relation_size('${name}')::float8 as heap, pg_indexes_size('${name}')::float8 as indexes`,
      )
      return row ?? { heap: Number.NaN, indexes: Number.NaN }
    }
    const before = await sizes()
    const { rows: listed } = await client.query<{ id: string }>(`select id from ${name} order by hashtext(id::text)`)
    const ids = listed.map(({ id }) => id)
    const begun = performance.now()
    for (let pass = 0; pass < updatesPerRow; pass++)
      for (let first = 0; first < ids.length; first += perStatement)
        await client.query(updates[pass % updates.length] ?? '', [ids.slice(first, first + perStatement)])
    const seconds = (performance.now() - begun) / 1000
    const after = await sizes()
    const [vacuums] = await query<{ count: number; hot: number }>(
      url,
      `select autovacuum_count::int as count, (n_tup_hot_upd::float8 / nullif(n_tup_upd, 0)) as hot
         from pg_stat_user_tables where relname = '${name}'`,
    )
    const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
    return {
      name: `${name}: size after ${updatesPerRow} updates of ${rows.toLocaleString('en')} rows ÷ before`,
      ratio: (after.heap + after.indexes) / (before.heap + before.indexes),
      target: { atMost: 1.5 },
      detail:
        `table ${mb(before.heap)} → ${mb(after.heap)}, indexes ${mb(before.indexes)} → ${mb(after.indexes)}; ` +
        `${((rows * updatesPerRow) / seconds).toFixed(0)} updates/s, ${vacuums?.count} vacuums, ` +
        `${(100 * (vacuums?.hot ?? 0)).toFixed(0)} % heap-only`,
    }
  } finally {
    await client.end()
  }
}

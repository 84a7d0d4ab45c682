// Rows of a database that has been in use: tasks with their history, uploads, deliveries, holds, ledger and usage, and
// the people of the workspaces. Written by SQL in the order of time, so pages are filled as in life.
//
// A fifth of the tasks belongs to the workspace that is measured, the others are spread over the rest. Ids are hashes
// of numbers: random, and known without a query.
import pg from 'pg'

export type Cell = { readonly tasks: number; readonly workspaces: number }

const chunk = 250_000

/** SQL of the id of a text expression. */
const idOf = (text: string): string => `md5(${text})::uuid`

/** SQL of the id of the measured workspace, which has a fifth of the tasks. */
export const measured = idOf(`'w0'`)

/** Names of the indexes stay while they are not written: `reindex` builds them from the table afterwards. */
const stopIndexes = `
  update pg_index set indisready = false, indisvalid = false
   where indrelid in (select oid from pg_class where relkind = 'r' and relname = any($1))`

const tables = [
  ...['task', 'task_event', 'upload', 'delivery', 'delivery_attempt', 'credit_hold', 'credit_entry'],
  ...['credit_lot', 'usage_day', 'workspace', 'app_user', 'membership', 'session', 'login_event', 'notification'],
] as const

type Say = (line: string) => void

/** Fills a migrated, empty database. */
export async function fill(url: string, cell: Cell, say: Say): Promise<void> {
  await connected(url, (client) => client.query(stopIndexes, [tables]))
  // A new connection: the first one has cached the indexes as valid.
  await connected(url, async (client) => {
    await client.query(`set session_replication_role = replica; set synchronous_commit = off`)
    await client.query(`set work_mem = '256MB'; set maintenance_work_mem = '1GB'`)
    await insertPeople(client, `select 'w' || n as name from generate_series(0, ${cell.workspaces - 1}) as s (n)`)
    const numbers = Math.ceil(cell.tasks / chunk)
    for (let first = 0; first < cell.tasks; first += chunk) {
      await insertTasks(client, spanOf(cell, first, Math.min(first + chunk, cell.tasks)))
      say(`${first / chunk + 1} of ${numbers} parts written`)
    }
    await insertSums(client, 'true')
    for (const table of tables) await client.query(`reindex table ${table}`)
    say('indexes built')
    await age(client)
    say('vacuumed')
  })
}

type Span = {
  readonly first: number
  readonly end: number
  /** Text expressions of the row number `n`. */
  readonly task: string
  readonly workspace: string
  readonly createdAt: string
}

function spanOf({ tasks, workspaces }: Cell, first: number, end: number): Span {
  const others = workspaces - 1
  const other = `'w' || 1 + (hashint4(n) & 2147483647) % ${others}`
  return {
    first,
    end,
    task: `'t' || n`,
    workspace: others === 0 ? `'w0'` : `case when n % 5 = 0 then 'w0' else ${other} end`,
    // Ten days younger than the plan's retention: databases are kept for a week.
    createdAt: `now() - (1 - n / ${tasks}.0) * interval '20 days'`,
  }
}

export type Leaver = { readonly userId: string; readonly workspaceId: string }

/** Accounts that are about to be erased; each has a workspace with 20 tasks. `run` makes their names unique. */
export async function addLeavers(url: string, run: string, count: number): Promise<Leaver[]> {
  const tasks = 20
  const name = `'v' || '${run}-' || n`
  return connected(url, async (client) => {
    await client.query('set session_replication_role = replica')
    await insertPeople(client, `select ${name} as name from generate_series(0, ${count - 1}) as s (n)`)
    await insertTasks(client, {
      first: 0,
      end: count * tasks,
      task: `'t${run}-' || n`,
      workspace: `'v${run}-' || n / ${tasks}`,
      createdAt: `now() - interval '1 day' + n * interval '1 second'`,
    })
    await insertSums(client, `w.name like 'v${run}-%'`)
    const { rows } = await client.query<Leaver>(`
      select id as "workspaceId", personal_of as "userId" from workspace where name like 'v${run}-%'`)
    return rows
  })
}

async function insertTasks(client: pg.Client, { first, end, task, workspace, createdAt }: Span): Promise<void> {
  const rows = `
    with r as materialized (
      select n, ${idOf(task)} as id, ${idOf(workspace)} as workspace_id, ${idOf(`'l' || ${workspace}`)} as lot_id,
             ${idOf(`'u' || ${task}`)} as upload_id, ${createdAt} as at,
             case when n / 5 % 20 = 1 then 'failed' when n / 5 % 33 = 2 then 'canceled' else 'succeeded' end as status
        from generate_series(${first}, ${end - 1}) as s (n) order by n)`
  const insert = (table: string, columns: string, select: string): Promise<unknown> =>
    client.query(`${rows} insert into ${table} (${columns}) select ${select}`)
  await insert(
    'upload',
    'id, workspace_id, object_key, content_type, created_at, expires_at, used_at',
    `upload_id, workspace_id, 'private-uploads/2026/01/' || left(upload_id::text, 12) || n || '-photo.png', 'image/png',
     at - interval '1 s', at + interval '15 minutes', at from r`,
  )
  await insert(
    'task',
    `id, workspace_id, status, model_version, upload_id, source_key, source_etag, source_size_bytes, credit_cost,
     attempt, due_at, queued_at, started_at, completed_at, failure_reason, result_key, result_format,
     result_size_bytes, width, height, foreground, callback_url, created_at`,
    `id, workspace_id, status, 'service-v2', upload_id, 'private-uploads/2026/01/' || left(upload_id::text, 12) || n ||
     '-photo.png', '"' || md5(id::text) || '"', 400000, 1, 1, at, at, at + interval '50 ms', at + interval '1 s',
     case when status = 'failed' then 'INPUT_UNREADABLE' end,
     case when status = 'succeeded' then 'results/2026/01/' || id || '/1-' || left(lot_id::text, 8) || '.png' end,
     'png', 300000, 1200, 800, '{"top": 10, "left": 20, "width": 1000, "height": 700}',
     case when n % 10 in (0, 7) then 'https://receiver.example.com/hooks/matte?tenant=42' end, at from r`,
  )
  await insert(
    'task_event',
    'task_id, workspace_id, run, type, payload, at',
    `id, workspace_id, 1, type, '{"run": 1}', at + ms * interval '1 ms'
       from r cross join lateral (values ('queued', 0), ('processing', 50), (status, 1000)) e (type, ms)
      order by n, ms`,
  )
  await insert(
    'delivery',
    `id, workspace_id, task_id, run, event, event_key, target_url, target_host, body, status, attempt, due_at,
     completed_at, created_at, ready`,
    `${idOf(`'d' || id`)}, workspace_id, id, 1, 'task.succeeded', id || '.1',
     'https://receiver.example.com/hooks/matte?tenant=42', 'receiver.example.com:443', repeat('{"a task": 1}', 40),
     'delivered', 1, at, at + interval '2 s', at + interval '1 s', true from r where n % 10 in (0, 7)`,
  )
  await insert(
    'delivery_attempt',
    'delivery_id, attempt, at, duration_ms, status_code, response_body',
    `${idOf(`'d' || id`)}, 1, at + interval '2 s', 20, 200, '{"ok":true}' from r where n % 10 in (0, 7)`,
  )
  await insert('credit_hold', 'task_id, run, lot_id, amount, state, held_at', `id, 1, lot_id, 1, 'captured', at from r`)
  await insert(
    'credit_entry',
    'workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available, at',
    `workspace_id, lot_id, id, 1, source, target, 1, 1000000000, at + s * interval '1 s'
       from r cross join lateral (values ('available', 'held', 0), ('held', 'spent', 1)) e (source, target, s)
      order by n, s`,
  )
}

/** A person with a workspace per row of the query `select … as name`. */
async function insertPeople(client: pg.Client, query: string): Promise<void> {
  const names = `(${query}) p`
  const user = idOf(`'p' || name`)
  const insert = (table: string, columns: string, select: string): Promise<unknown> =>
    client.query(`insert into ${table} (${columns}) select ${select}`)
  await insert(
    'app_user',
    'id, email, email_key, email_verified_at',
    `${user}, name || '@example.com', name || '@example.com', now() from ${names}`,
  )
  await insert(
    'workspace',
    'id, name, plan, personal_of, created_at',
    `${idOf('name')}, name, 'bench', ${user}, now() - interval '60 days' from ${names}`,
  )
  await insert('membership', 'workspace_id, user_id, role', `${idOf('name')}, ${user}, 'owner' from ${names}`)
  await insert(
    'session',
    'user_id, workspace_id, ip_address, user_agent, expires_at',
    `${user}, ${idOf('name')}, '192.0.2.1', 'Mozilla/5.0', now() + interval '30 days'
       from ${names}, generate_series(1, 2)`,
  )
  await insert(
    'login_event',
    'user_id, at, success, method, ip_address',
    `${user}, now() - i * interval '1 day', true, 'password', '192.0.2.1' from ${names}, generate_series(1, 3) as s (i)`,
  )
  await insert(
    'notification',
    'user_id, workspace_id, type, title, body, event_key',
    `${user}, ${idOf('name')}, 'welcome', 'Welcome', 'Welcome', i from ${names}, generate_series(1, 3) as s (i)`,
  )
}

/** A lot and the days of usage of the workspaces `w` that match. */
async function insertSums(client: pg.Client, matches: string): Promise<void> {
  await client.query(`
    insert into credit_lot (id, workspace_id, kind, granted, available, spent, created_at)
    select ${idOf(`'l' || w.name`)}, w.id, 'bench', 1000000000 + coalesce(t.count, 0), 1000000000,
           coalesce(t.count, 0), now() - interval '60 days'
      from workspace w left join (
             select workspace_id, count(*) from task join workspace w on w.id = workspace_id where ${matches} group by 1
           ) t on t.workspace_id = w.id
     where ${matches}`)
  await client.query(`
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available, at)
    select l.workspace_id, l.id, 'source', 'available', granted, 1000000000, l.created_at
      from credit_lot l join workspace w on w.id = l.workspace_id where ${matches}`)
  await client.query(`
    insert into usage_day (workspace_id, day, created, succeeded, credits, latency_ms)
    select t.workspace_id, (t.created_at at time zone 'utc')::date, count(*), count(*), count(*), count(*) * 1000
      from task t join workspace w on w.id = t.workspace_id where ${matches} group by 1, 2`)
}

/** Rows that were updated, and vacuumed since or not: a fiftieth and a hundredth. */
async function age(client: pg.Client): Promise<void> {
  const touch = async (part: number): Promise<void> => {
    for (const [table, column] of [
      ['task', 'retry_count'],
      ['delivery', 'attempts_before'],
      ['upload', 'reserved_bytes'],
    ])
      await client.query(`update ${table} set ${column} = ${column} where hashtext(id::text) % ${part} = 0`)
  }
  await touch(50)
  await client.query('vacuum (analyze)')
  await touch(100)
  await client.query('checkpoint')
}

async function connected<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

// First page and page 5,000 (by cursor) of a list of 100,000 tasks. Compares only the statement of the page, timed by
// the database: count and request cost the same for both and would hide a cost that grows with the page number.
import { sql } from 'kysely'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import type { Caller, World } from './world.ts'

const depth = 5_000
const pageSize = 20
const rounds = 6
const readsPerRound = 10

export async function pageRow(world: World): Promise<Row> {
  const caller = world.callers[1]
  if (caller === undefined) throw new Error('there is no second workspace')
  await insertTasks(world, caller)
  const cursor = (await readPage(world, { caller }, `page=${depth - 1}`)).nextCursor
  const first: Times[] = []
  const deep: Times[] = []
  for (let round = 0; round < rounds; round++) {
    first.push(await measureReads(world, () => readPage(world, { caller }, 'page=1')))
    deep.push(await measureReads(world, () => readPage(world, { caller, page: depth }, `cursor=${cursor}`)))
  }
  const statementMs = (times: readonly Times[]): number => median(times.map((each) => each.statementMs))
  const requestMs = (times: readonly Times[]): string => `${median(times.map((each) => each.requestMs)).toFixed(1)} ms`
  return {
    name: 'page 5,000 by cursor ÷ page 1, the statement of the page',
    ratio: statementMs(deep) / statementMs(first),
    target: { atMost: 2 },
    detail:
      `${statementMs(deep).toFixed(3)} ms, ${statementMs(first).toFixed(3)} ms; ` +
      `the whole request, its count included, ${requestMs(deep)}, ${requestMs(first)}`,
  }
}

async function insertTasks({ db }: World, { workspaceId, objectKey }: Caller): Promise<void> {
  await sql`
    insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost,
                      status, completed_at, created_at)
    select ${workspaceId}::uuid, u.id, u.object_key, '"e"', 1, 'service-v2', 1, 'canceled', now(),
           now() - n * interval '1 second'
      from upload u, generate_series(1, ${(depth + 50) * pageSize}::int) n
     where u.object_key = ${objectKey}`.execute(db)
  await sql`vacuum analyze task`.execute(db)
}

/** The workspace's caller, and the page to expect. */
type Wanted = { readonly caller: Caller; readonly page?: number }
type PageAnswer = { readonly page: number; readonly items: readonly unknown[]; readonly nextCursor: string | null }

async function readPage({ port }: World, { caller, page }: Wanted, query: string): Promise<PageAnswer> {
  const url = `http://127.0.0.1:${port}/api/v1/open/developer/tasks?pageSize=${pageSize}&${query}`
  const answer = await fetch(url, { headers: { 'x-api-key': caller.apiKey } })
  const { data } = (await answer.json()) as { data?: PageAnswer }
  if (data?.items.length !== pageSize || data.nextCursor === null || data.page !== (page ?? data.page)) {
    throw new Error(`the list answered ${query} with ${answer.status}, page ${data?.page}`)
  }
  return data
}

type Times = { readonly statementMs: number; readonly requestMs: number }

async function measureReads({ db }: World, read: () => Promise<unknown>): Promise<Times> {
  const requests: number[] = []
  await sql`select pg_stat_statements_reset()`.execute(db)
  for (let i = 0; i < readsPerRound; i++) {
    const begun = performance.now()
    await read()
    requests.push(performance.now() - begun)
  }
  const { rows } = await sql<{ calls: number; ms: number }>`
    select sum(calls)::int as calls, sum(total_exec_time) / sum(calls) as ms from pg_stat_statements
     where query ~ 'from "task" where .* order by "created_at" desc'`.execute(db)
  const [page] = rows
  if (page?.calls !== readsPerRound) throw new Error(`the statement of the page ran ${page?.calls} times`)
  return { statementMs: page.ms, requestMs: median(requests) }
}

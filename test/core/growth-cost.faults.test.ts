// Pages that each operation reads, on 200,000 tasks of 5,000 workspaces and on 4,000 tasks of 50. An index grows by a
// page of height, so an operation may read half as much again. An operation that reads a table, or looks at each
// workspace, would read thousands of pages more.
import { listTasks } from '@matte/core/task/list-tasks'
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fill } from '../bench/growth/fill.ts'
import { findSubject, operationsOf, type Subject } from '../bench/growth/operations.ts'
import { plans } from '../bench/growth/plan.ts'
import { connectTo, createTestDatabase } from '../support/database.ts'

const small = { tasks: 4_000, workspaces: 50 }
const large = { tasks: 200_000, workspaces: 5_000 }

/** Rows of a page are on as many pages of a large table; see `detail` of the benchmark. */
const fewPages = 60

async function open(cell: typeof small): Promise<Subject> {
  const database = await createTestDatabase()
  await fill(database.url, cell, () => undefined)
  // Autovacuum would count as well.
  await sql`do $$ declare t regclass; begin
    for t in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = off)', t);
    end loop; end $$`.execute(database.db)
  // A single connection: another connection would report its reads later.
  const own = connectTo(database.url, 1)
  onTestFinished(async () => {
    await own.stop()
    await database.drop()
  })
  return findSubject(own.db, database.url)
}

async function readCount({ db }: Subject): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ pages: number }>`
    select sum(coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0))::float8 as pages
      from pg_statio_user_tables`.execute(db)
  return rows[0]?.pages ?? Number.NaN
}

/** Pages per call, by operation. */
async function costsOf(subject: Subject): Promise<ReadonlyMap<string, number>> {
  const costs = new Map<string, number>()
  for (let round = 0; round < 2; round++) {
    for await (const { name, bounded, calls } of operationsOf(subject)) {
      const before = await readCount(subject)
      for (const call of calls) await call()
      const pages = ((await readCount(subject)) - before) / calls.length
      // The first round is a warm-up: its sweep looks at every workspace once.
      if (round > 0 && bounded) costs.set(name, pages)
    }
  }
  return costs
}

/** Queued tasks of the first hundred workspaces, unknown to the statistics. */
async function givenBurst({ db }: Subject, tasks: number): Promise<void> {
  await sql`
    with owner as (select id, row_number() over (order by name) - 1 as n from workspace order by name limit 100),
    made as (
      insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost)
      select o.id, (select id from upload limit 1), 'k', '"e"', 1, 'service-v2', 1
        from generate_series(1, ${tasks}::int) s (i) join owner o on o.n = i % 100
      returning workspace_id
    )
    update workspace w set queued = c.count, open_singles = c.count
      from (select workspace_id, count(*) from made group by 1) c where w.id = c.workspace_id`.execute(db)
}

describe('PostgreSQL', () => {
  it('keeps one plan for the first page of tasks', async () => {
    const { db, workspaceId } = await open({ tasks: 60_000, workspaces: 1_000 })
    for (const pageSize of [20, 100]) {
      const page = { limit: pageSize + 1, offset: 0 }
      // PostgreSQL considers one plan for all values after five calls.
      for (let call = 0; call < 12; call++) {
        await listTasks(db, { workspaceId }, page)
      }
    }
    const { rows } = await sql<{ custom: number }>`
      select custom_plans::int as custom from pg_prepared_statements
       where statement like '%created_at_micros%'`.execute(db)
    expect(rows).toEqual(Array(2).fill({ custom: 5 }))
  }, 120_000)
})

describe('the pages that an operation reads', () => {
  it('do not grow with a burst that the statistics do not know', async () => {
    const subject = await open({ tasks: 60_000, workspaces: 1_000 })
    await givenBurst(subject, 3_000)
    // As for SSDs, where the planner is more willing to read an index that it believes to be empty.
    await sql`set random_page_cost = 1.1`.execute(subject.db)
    const before = await readCount(subject)
    const claims = await claimNextTasks(subject.db, { models: ['service-v2'], limit: 1, plans, claimMs: 600_000 })
    const task = claims.tasks[0]
    expect(task).toBeDefined()
    // A few pages of each workspace; all queued tasks for each were 300,000.
    expect((await readCount(subject)) - before).toBeLessThan(100 * 20)
  }, 120_000)

  it('do not grow with the number of tasks and workspaces', async () => {
    const [before, after] = [await costsOf(await open(small)), await costsOf(await open(large))]
    expect(before.size).toBeGreaterThan(15)
    const grown = [...before].flatMap(([name, pages]) => {
      const now = after.get(name) ?? Number.NaN
      return now <= 1.5 * pages + fewPages ? [] : [`${name}: ${pages.toFixed(0)} → ${now.toFixed(0)} pages`]
    })
    expect(grown).toEqual([])
  }, 600_000)
})

// Cost of a claim in pages read, counted by PostgreSQL over all of its statements. The cost depends on how many
// deliveries can be claimed, not on how many are pending, and holds with stale statistics too, because the queue can
// grow from empty to long at any moment.
import type { Db } from '@matte/core/db/database'
import type { ClaimedDelivery } from '@matte/core/webhook/claim-deliveries'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { claimDue, claimOptions } from './given.ts'

/** Arguments of a dispatcher with 32 slots, the minimum. */
const options = { ...claimOptions, limit: 32, perWorkspaceInFlight: 8 }
const many = 100_000

type Pending = {
  readonly count: number
  readonly host: string
  readonly dueAt: string
  readonly owner?: string
  /** Default: `pending`. */
  readonly status?: 'paused'
}

/** `host`, `dueAt` and `owner` are SQL expressions; `n` is the row number. */
async function givenPending(db: Db, { count, host, dueAt, owner, status }: Pending): Promise<void> {
  const { id } = await givenWorkspace(db)
  await sql`
    insert into delivery (workspace_id, event, event_key, target_url, target_host, body, due_at, status, completed_at)
    select ${sql.raw(owner ?? `'${id}'`)}, 'welcome', n::text, 'https://a.example/', ${sql.raw(host)}, '{}',
           ${sql.raw(dueAt)}, ${status ?? 'pending'}, case when ${status !== undefined} then now() end
      from generate_series(1, ${count}) as s (n)`.execute(db)
}

/** `w1` to `w100000`. */
async function givenNamedWorkspaces(db: Db): Promise<void> {
  await sql`
    insert into workspace (name, plan) select 'w' || n, 'pro' from generate_series(1, ${many}) as s (n)`.execute(db)
  await sql`create index if not exists workspace_name on workspace (name)`.execute(db)
}

type Cost = { readonly pages: number; readonly claimed: readonly ClaimedDelivery[] }

/** `db` is a single connection: another connection would report its reads later. */
async function claimAndCount(db: Db): Promise<Cost> {
  const count = async (): Promise<number> => {
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const { rows } = await sql<{ pages: number }>`
      select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as pages
        from pg_statio_user_tables where relname = 'delivery'`.execute(db)
    return rows[0]?.pages ?? 0
  }
  const before = await count()
  await readDueState(db, options.limit + 1)
  const claimed = await claimDue(db, options)
  return { pages: (await count()) - before, claimed }
}

const hosts = `'h' || n || '.example:443'`
const [due, notDue] = [`now() - n * interval '1 ms'`, `now() + interval '1 hour'`]

// Each case: rows, smaller number of rows to compare with 100,000, deliveries claimed, and pages that the claim may
// cost more, because indexes of 100,000 rows are two or three pages high.
const cases = [
  { name: 'hosts with nothing due', few: 0, host: hosts, dueAt: notDue, taken: 1, ratio: 2 },
  {
    name: 'deliveries of disabled endpoints',
    few: 0,
    host: hosts,
    dueAt: due,
    status: 'paused' as const,
    taken: 1,
    ratio: 2,
  },
  { name: 'due deliveries to one host', few: 10, host: `'h.example:443'`, dueAt: due, taken: 5, ratio: 3 },
  { name: 'hosts with something due', few: 40, host: hosts, dueAt: due, taken: 9, ratio: 3 },
  {
    name: 'workspaces with something due',
    few: 40,
    host: hosts,
    dueAt: due,
    owner: `(select id from workspace where name = 'w' || n)`,
    taken: 32,
    ratio: 3,
  },
]

describe('the cost of a claim', () => {
  const database = useDatabase()

  it.each(cases)('stays the same for 100,000 $name', async ({ few, taken, ratio, ...pending }) => {
    const own = connectTo(database.url, 1)
    onTestFinished(() => own.stop())
    const { db } = own
    await sql`delete from delivery`.execute(db)
    await sql`delete from workspace`.execute(db)
    await sql`alter table delivery set (autovacuum_enabled = off)`.execute(db)
    if (pending.owner !== undefined) await givenNamedWorkspaces(db)
    const costOf = async (count: number, isKnown: boolean): Promise<number> => {
      await sql`truncate delivery cascade`.execute(db)
      await sql`vacuum analyze delivery`.execute(db)
      await givenPending(db, { ...pending, count })
      await givenPending(db, { count: 1, host: `'other.example:443'`, dueAt: `now() - interval '1 hour'` })
      if (isKnown) await sql`vacuum analyze delivery`.execute(db)
      const { pages, claimed } = await claimAndCount(db)
      expect(claimed).toHaveLength(taken)
      return pages
    }
    const fewer = await costOf(few, false)
    // The planner is worst with the statistics of an empty table.
    for (const isKnown of [false, true]) expect(await costOf(many, isKnown)).toBeLessThan(ratio * fewer)
  })
})

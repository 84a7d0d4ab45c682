// Cost of the API replicas' periodic samples, every ten seconds or five minutes: independent of queue and history,
// counted in pages, on large tables with stale statistics.
import { readHeldCredits } from '@matte/core/sample/held-credits'
import { findViolations } from '@matte/core/sample/invariants'
import { readPaymentLag } from '@matte/core/sample/payment-lag'
import { readRetentionLag, readTaskRetentionLag } from '@matte/core/sample/retention-lag'
import { readWaitingTasks } from '@matte/core/sample/waiting-tasks'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { costOf } from './explain.ts'

const workspaces = 200
const tasks = 60_000

/**
 * Six of ten tasks have ended, one is processed and three wait, one of them as a child. Each task has a credit of its
 * workspace's lot, and each ended one a delivery with an attempt. There are as many paid orders, each with a refund, a
 * dispute and a subscription; one of a thousand needs a query to the provider.
 */
const fill = [
  sql`insert into workspace (name, plan) select 'w', 'enterprise' from generate_series(1, ${workspaces}::int)`,
  sql`create temporary table owner as select row_number() over () - 1 as n, id from workspace`,
  sql`insert into upload (workspace_id, object_key, content_type, expires_at, created_at)
      select o.id, 'u' || i, 'image/png', now(), now() - interval '1 day'
        from generate_series(1, ${tasks}::int) i join owner o on o.n = i % ${workspaces}::int`,
  sql`insert into object_deletion select 'o' || i, now() from generate_series(1, ${tasks}::int) i`,
  sql`insert into credit_lot (workspace_id, kind, granted, available, spent)
      select id, 'g', ${tasks}::int, ${tasks}::int - 300, 300 from owner`,
  sql`insert into batch (workspace_id, total_count, model_version) select id, 1000, 'service-v2' from owner`,
  sql`create temporary table made as
      select gen_random_uuid() as id, u.id as upload_id, u.workspace_id, i % 10 as kind, i
        from (select id, workspace_id, row_number() over () as i from upload) u`,
  sql`insert into task (id, workspace_id, batch_id, status, model_version, upload_id, source_key, source_etag,
             source_size_bytes, credit_cost, queued_at, started_at, completed_at, failure_reason, claim, claimed_until)
      select m.id, m.workspace_id, case kind when 9 then b.id end,
             case when kind < 6 then 'failed' when kind = 6 then 'processing' else 'queued' end, 'service-v2',
             upload_id, 'k', 'e', 1, 1, now() - (i % 100000) * interval '1 s', case when kind < 7 then now() end,
             case when kind < 6 then now() - interval '1 h' end, case when kind < 6 then 'INTERNAL' end,
             case kind when 6 then gen_random_uuid() end, case kind when 6 then now() + interval '1 h' end
        from made m join batch b using (workspace_id)`,
  sql`insert into credit_hold (task_id, run, lot_id, amount, state)
      select m.id, 1, l.id, 1, case when m.kind < 6 then 'released' else 'open' end
        from made m join credit_lot l using (workspace_id)`,
  sql`insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount)
      select m.workspace_id, l.id, m.id, 1, 'available', 'held', 1 from made m join credit_lot l using (workspace_id)`,
  sql`insert into delivery (workspace_id, task_id, run, event, target_url, target_host, body, status, completed_at)
      select workspace_id, id, 1, 'e', 'u', 'h', '{}', case when kind < 3 then 'delivered' else 'pending' end,
             case when kind < 3 then now() end from made`,
  sql`insert into delivery_attempt (delivery_id, attempt, duration_ms) select id, 1, 1 from delivery`,
  sql`insert into payment_order (workspace_id, kind, status, description, pack_id, credits, amount, currency, provider,
             paid_at, check_at)
      select workspace_id, 'pack', 'paid', 'd', 'p', 1, 1, 'EUR', 'stripe', now(), case i % 1000 when 0 then now() end
        from made`,
  sql`insert into refund (workspace_id, order_id, status, amount, currency, credits, reason, completed_at, check_at)
      select workspace_id, id, 'succeeded', 1, 'EUR', 0, 'r', now(), check_at from payment_order`,
  sql`insert into payment_dispute (workspace_id, order_id, provider, provider_id, status, reason, amount, currency,
             reading, check_at, closed_at)
      select workspace_id, id, 'stripe', id, case when check_at is null then 'won' else 'open' end, 'general', 1, 'EUR', 1,
             check_at, case when check_at is null then now() end
        from payment_order`,
  sql`insert into subscription (workspace_id, provider, provider_id, plan, billing_interval, status, period_start,
             period_end, reading, check_at)
      select workspace_id, 'stripe', id, 'pro', 'month', 'active', now(), now() + interval '1 month', 1, check_at
        from payment_order`,
  sql`update workspace w set queued = n.queued, processing = n.processing, open_singles = n.queued + n.processing
        from (select workspace_id, count(*) filter (where kind > 6) as queued,
                     count(*) filter (where kind = 6) as processing from made group by 1) n
       where n.workspace_id = w.id`,
]

/** Small tables, and tables of which one row per workspace is read by design. */
const small = ['model', 'workspace']

describe(`the cost of samples with ${tasks} tasks`, () => {
  const database = useDatabase()
  beforeAll(async () => {
    const { db } = database
    await sql`analyze`.execute(db)
    await db.connection().execute(async (connection) => {
      for (const statement of fill) await statement.execute(connection)
    })
  })

  describe.each(['while the tables were empty', 'just now'])('and statistics taken %s', (when) => {
    beforeAll(async () => {
      if (when === 'just now') await sql`vacuum analyze`.execute(database.db)
    })

    it.each([
      // Up to 10,000 entries each of singles and of children, and the first child of each workspace.
      ['the queue', 6_000, (db) => readWaitingTasks(db, defaultPlans)],
      ['due deliveries', 500, (db) => readDueState(db, 10_000)],
      // 10,000 open tasks, and the hold of each by its key, of four pages.
      ['held credits', 45_000, readHeldCredits],
      ['the lag of retention', 20, readRetentionLag],
      // And one page for each of the sixty refunds that need a query.
      ['the lag of payments', 100, readPaymentLag],
      ['the lag of finished tasks', workspaces * 5, (db) => readTaskRetentionLag(db, defaultPlans)],
      ['the rule ledger_balance', 400, (db) => findViolations(db, 'ledger_balance')],
      ['the rule charged_twice', 400, (db) => findViolations(db, 'charged_twice')],
      // As many ended tasks, and their holds.
      ['the rule ended_unsettled', 45_000, (db) => findViolations(db, 'ended_unsettled')],
      ['the rule delivered_twice', 400, (db) => findViolations(db, 'delivered_twice')],
      ['the rule task_counts', 1_000, (db) => findViolations(db, 'task_counts')],
    ] satisfies Row[])('%s reads %d pages at the most, and no table as a whole', async (_what, pagesMax, send) => {
      const { pages, wholeTables } = await costOf(database.url, send)
      expect(pages).toBeLessThanOrEqual(pagesMax)
      expect(wholeTables.filter((table) => !small.includes(table))).toEqual([])
    })
  })
})

type Row = [what: string, pagesMax: number, send: Parameters<typeof costOf>[1]]

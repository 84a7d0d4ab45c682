// Disk usage of a task in the database; docs/operations/sizing.md has its numbers from here.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { finishTask } from '@matte/core/task/run/finish-task'
import { claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { rootDir } from '@matte/local/paths'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenClaimed, givenWorkspace, success } from '../support/factories.ts'

const database = useDatabase()
const tasks = 1_000
const policy = { maxRetries: 12, retryUnitMs: 60_000 }

it('a charged task with one webhook takes no more space than the sizing page states', async () => {
  const { db } = database
  // Otherwise autovacuum removes old row versions at random times.
  await sql`do $$ declare t regclass; begin
    for t in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = off)', t);
    end loop; end $$`.execute(db)
  const before = await sizes()
  const workspace = await givenWorkspace(db, { plan: 'enterprise', credits: tasks })
  for (let made = 0; made < tasks; made++) {
    const callbackUrl = 'https://receiver.example.com/hooks/matte?tenant=42'
    const claimed = await givenClaimed(db, workspace, { callbackUrl, model: 'service-v2' })
    await finishTask(db, claimed, success(claimed))
  }
  let delivered = 0
  while (delivered < tasks) {
    const { deliveries } = await claimDueDeliveries(db, {
      limit: 100,
      claimMs: 60_000,
      perTargetInFlight: 100,
      perWorkspaceInFlight: 100,
    })
    for (const claim of deliveries) {
      const outcome = {
        statusCode: 200,
        error: null,
        responseBody: '{"ok":true}',
        durationMs: 20,
        endedAgoMs: 0,
        policy,
      }
      await recordAttempt(db, claim, outcome)
    }
    delivered += deliveries.length
  }
  const grown = difference(await sizes(), before)
  await sql`vacuum full`.execute(db)
  const kept = difference(await sizes(), before)
  const rows = Object.keys(grown).map(
    (table) => `${table}: ${perTask(kept[table])} (${perTask(grown[table])} before vacuum)`,
  )
  process.stdout.write(`bytes a task\n${rows.join('\n')}\n`)
  const page = readFileSync(join(rootDir, 'docs/operations/sizing.md'), 'utf8')
  const stated = Number(/\| all tables, with indexes \| ([\d,]+) \|/.exec(page)?.[1]?.replace(',', ''))
  const measured = perTask(sum(kept))
  expect(measured).toBeLessThanOrEqual(stated)
  // And not much less, otherwise the page is outdated.
  expect(measured).toBeGreaterThan(stated * 0.8)
}, 600_000)

async function sizes(): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; bytes: string }>`
    select relname as name, pg_total_relation_size(oid) as bytes
      from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`.execute(database.db)
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]))
}

const difference = (after: Record<string, number>, before: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(after).flatMap(([table, bytes]) => {
      const grown = bytes - (before[table] ?? 0)
      return grown > 0 ? [[table, grown]] : []
    }),
  )
const sum = (bytes: Record<string, number>): number => Object.values(bytes).reduce((all, one) => all + one, 0)
const perTask = (bytes = 0): number => Math.round(bytes / tasks)

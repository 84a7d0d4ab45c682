import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Plan } from './plan.ts'

export function insertWorkspace(db: Db, { name, plan }: { name: string; plan: string }) {
  return db.insertInto('workspace').values({ name, plan }).returning('id').executeTakeFirstOrThrow()
}

export function findWorkspace(db: Db, id: string) {
  return db.selectFrom('workspace').select(['id', 'name', 'plan']).where('id', '=', id).executeTakeFirst()
}

const month = sql<string>`date_trunc('month', now() at time zone 'utc')::date`

/**
 * Takes the places of one new single task: one open single, one queued, one of the month's quota. The update locks
 * the workspace row, and its WHERE decides; no count is read before. Undefined: a limit is reached, see
 * `findExhaustedLimit`. A new month begins with the first task in it.
 */
export function takeSinglePlace(db: Db, workspaceId: string, plan: Plan) {
  return db
    .updateTable('workspace')
    .set((eb) => ({
      open_singles: eb('open_singles', '+', 1),
      queued: eb('queued', '+', 1),
      quota_used: sql<number>`case when quota_month = ${month} then quota_used + 1 else 1 end`,
      quota_month: month,
    }))
    .where('id', '=', workspaceId)
    .where('open_singles', '<', plan.concurrentTasks)
    .$if(plan.monthlyQuota !== null, (query) =>
      query.where(sql<boolean>`(quota_month <> ${month} or quota_used < ${plan.monthlyQuota})`),
    )
    .returning('id')
    .executeTakeFirst()
}

/** After `takeSinglePlace` found no row: which limit it was, concurrency before quota (D4). */
export async function findExhaustedLimit(
  db: Db,
  workspaceId: string,
  plan: Plan,
): Promise<{ limit: 'concurrency' | 'quota'; resetsAt: Date } | undefined> {
  const row = await db
    .selectFrom('workspace')
    .select([
      sql<boolean>`open_singles >= ${plan.concurrentTasks}`.as('busy'),
      sql<Date>`(date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'`.as('resetsAt'),
    ])
    .where('id', '=', workspaceId)
    .executeTakeFirst()
  return row && { limit: row.busy ? 'concurrency' : 'quota', resetsAt: row.resetsAt }
}

import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { publishEvent } from '../webhook/publish-event.ts'
import type { Plans } from '../workspace/plan.ts'
import { readRetention, toRetention } from '../workspace/retention.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { timeOf } from './release-uploads.ts'

const event = 'task.retention_cleanup'

/** Announces deleted tasks once per workspace and UTC day; returns the number of workspaces. */
export async function announceCleanups(db: Db, plans: Plans, pass: SweepPass = {}) {
  const { now, limit = 100 } = pass
  const today = sql<string>`(${timeOf(now)} at time zone 'utc')::date`
  const due = sql<boolean>`(deleted > 0 and announced_on is distinct from ${today})`
  // Workspaces of unknown plans are skipped and must not use up the limit.
  const waiting = await db
    .selectFrom('retention_notice')
    .innerJoin('workspace', 'workspace.id', 'workspace_id')
    .select('workspace_id as id')
    .where(due)
    .where('plan', 'in', Object.keys(plans))
    .where(sql<boolean>`workspace_id <> all(${idsAside(pass)}::uuid[])`)
    .limit(limit)
    .execute()
  return sumEach(waiting, pass, ({ id: workspaceId }) =>
    db.transaction().execute(async (tx) => {
      const workspace = await lockWorkspace(tx, workspaceId)
      // UPDATE returns new values only, so the locked count is read first.
      const notice = await tx
        .selectFrom('retention_notice')
        .select(['deleted as count', sql<string>`${today}`.as('day')])
        .where('workspace_id', '=', workspaceId)
        .where(due)
        .executeTakeFirst()
      const plan = plans[workspace?.plan ?? '']
      if (plan === undefined || notice === undefined) return 0
      const { effective, max } = toRetention(plan, await readRetention(tx, workspaceId))
      await tx
        .updateTable('retention_notice')
        .set({ deleted: 0, announced_on: today })
        .where('workspace_id', '=', workspaceId)
        .execute()
      const days = Math.floor(effective / 86_400)
      const message = messageOf(notice.count, effective < max ? undefined : days)
      const fields = { count: notice.count, days, message }
      await publishEvent(tx, { event, fields, key: notice.day, workspaceId, userId: null })
      return 1
    }),
  )
}

/** `days`: undefined: tasks were deleted earlier than the plan does. */
function messageOf(count: number, days: number | undefined): string {
  const what = count === 1 ? 'finished task was' : 'finished tasks were'
  return `${count} ${what} deleted ${days === undefined ? 'at the end of their retention' : `${days} days after their end`}.`
}

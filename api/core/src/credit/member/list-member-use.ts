import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { thisMonth } from './member-use.ts'

/** The month that is counted. */
export async function readMonth(db: Db): Promise<{ readonly start: Date; readonly end: Date }> {
  const { rows } = await sql<{ start: Date; end: Date }>`
    select m at time zone 'utc' as start, (m + interval '1 month') at time zone 'utc' as "end"
      from date_trunc('month', now() at time zone 'utc') as m`.execute(db)
  return rows[0] as { start: Date; end: Date }
}

type MemberUse = {
  readonly userId: string
  readonly email: string
  readonly name: string | null
  /** Credits of this month that are held for or were spent on the member's tasks. */
  readonly used: number
  readonly monthlyLimit: number | null
}

/** The members of a workspace with what each has used this month, in the order of their joining. */
export function listMemberUse(db: Db, workspaceId: string): Promise<MemberUse[]> {
  return db
    .selectFrom('membership as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .leftJoin('member_credit_month as m', (join) =>
      join
        .onRef('m.workspace_id', '=', 's.workspace_id')
        .onRef('m.user_id', '=', 's.user_id')
        .on(sql<boolean>`m.month = ${thisMonth}`),
    )
    .select(['s.user_id as userId', 'u.email', 'u.name', 's.credit_limit as monthlyLimit'])
    .select(sql<number>`coalesce(m.used, 0)`.as('used'))
    .where('s.workspace_id', '=', workspaceId)
    .orderBy('s.created_at')
    .orderBy('s.user_id')
    .execute()
}

// Credits that each member's tasks use in a shared workspace, counted in the statements that hold and release credits,
// so a member's limit is exact under concurrency. Personal workspaces are not counted.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'

const monthOf = (at: RawBuilder<unknown>) => sql<string>`date_trunc('month', ${at} at time zone 'utc')::date`
/** The current month as stored. */
export const thisMonth = monthOf(sql`now()`)

type Use = {
  readonly workspaceId: string
  /** Null: unknown member, no limit. */
  readonly userId: string | null
  readonly amount: number
}

/**
 * Parts of the statement that holds credits; `counted` has no row if the member's limit is reached. The workspace is
 * locked, so the limit cannot change meanwhile.
 */
export const useParts = ({ workspaceId, userId, amount }: Use) => sql`member as (
      select w.id as workspace_id, ${userId}::uuid as user_id, s.credit_limit
        from workspace w left join membership s on s.workspace_id = w.id and s.user_id = ${userId}::uuid
       where w.id = ${workspaceId} and w.personal_of is null and ${userId}::uuid is not null
    ), counted as (
      insert into member_credit_month as m (workspace_id, user_id, month, used)
      select workspace_id, user_id, ${thisMonth}, ${amount}::int
        from member where credit_limit is null or ${amount}::int <= credit_limit
      on conflict (workspace_id, user_id, month) do update set used = m.used + excluded.used
       where m.used + excluded.used <= (select coalesce(credit_limit, 9223372036854775807) from member)
      returning 1
    )`

/** Whether the limit prevented the hold. */
export const limitReached = sql<boolean>`exists (select from member) and not exists (select from counted)`

/** Part of the statement that releases credits: `hold` has the holds, `lot` their lots. */
export const giveBackPart = sql`given_back as (
      update member_credit_month m set used = greatest(m.used - r.amount, 0)
        from (select lot.workspace_id, t.created_by, ${monthOf(sql`hold.held_at`)} as month,
                     sum(hold.amount) as amount
                from hold join lot on lot.id = hold.lot_id join task t on t.id = hold.task_id
               where t.created_by is not null
               group by 1, 2, 3) r
       where m.workspace_id = r.workspace_id and m.user_id = r.created_by and m.month = r.month
    )`

/** Error after `limitReached`; the transaction is rolled back. */
export async function memberLimitError(tx: Db, { workspaceId, userId, amount }: Use): Promise<MatteError> {
  const row = await tx
    .selectFrom('membership as s')
    .leftJoin('member_credit_month as m', (join) =>
      join
        .onRef('m.workspace_id', '=', 's.workspace_id')
        .onRef('m.user_id', '=', 's.user_id')
        .on(sql<boolean>`m.month = ${thisMonth}`),
    )
    .select(['s.credit_limit as limit', sql<number>`coalesce(m.used, 0)`.as('used')])
    .where('s.workspace_id', '=', workspaceId)
    .where('s.user_id', '=', userId)
    .executeTakeFirst()
  const { limit, used } = row ?? { limit: null, used: null }
  return new MatteError('CREDITS_INSUFFICIENT', `This team limits you to ${limit} credits a month.`, {
    details: { limit: 'member', required: amount, monthlyLimit: limit, used },
  })
}

/** The current month, UTC. */
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
  /** Credits held for or spent on the member's tasks this month. */
  readonly used: number
  readonly monthlyLimit: number | null
}

/** Members of a workspace with their use of this month, in order of joining. */
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

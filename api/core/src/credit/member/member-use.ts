// What the tasks of each member take of the credits of a shared workspace, counted where credits are held and given
// back where they are released, in those very statements (A101): a limit of a member is exact however many create at
// once, and what has been used is known after the tasks have gone. A personal workspace has no row.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'

const monthOf = (at: RawBuilder<unknown>) => sql<string>`date_trunc('month', ${at} at time zone 'utc')::date`
/** The current month, as rows have it. */
export const thisMonth = monthOf(sql`now()`)

type Use = {
  readonly workspaceId: string
  /** Whose tasks they are; null: nobody's that is known, which has no limit. */
  readonly userId: string | null
  readonly amount: number
}

/**
 * Parts of the statement that holds credits: `counted` has a row unless the member's limit is reached. The workspace's
 * row is locked by then, so that nobody sets a limit meanwhile.
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

/** Whether those parts were refused. */
export const limitReached = sql<boolean>`exists (select from member) and not exists (select from counted)`

/** A part of the statement that releases holds: `hold` has those, `lot` their lots. */
export const giveBackPart = sql`given_back as (
      update member_credit_month m set used = greatest(m.used - r.amount, 0)
        from (select lot.workspace_id, t.created_by, ${monthOf(sql`hold.held_at`)} as month,
                     sum(hold.amount) as amount
                from hold join lot on lot.id = hold.lot_id join task t on t.id = hold.task_id
               where t.created_by is not null
               group by 1, 2, 3) r
       where m.workspace_id = r.workspace_id and m.user_id = r.created_by and m.month = r.month
    )`

/** After `limitReached`, in a transaction that is rolled back: nothing was held. */
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
  return new MatteError('CREDITS_INSUFFICIENT', `This team lets you use ${limit} credits a month.`, {
    details: { limit: 'member', required: amount, monthlyLimit: limit, used },
  })
}

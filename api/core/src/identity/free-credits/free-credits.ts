// Credits of the plan Free are granted once per mailbox (D88). A row of `free_credit` says that a mailbox had them. It
// belongs to an account until that is erased, and is deleted 12 months later.
import { sql } from 'kysely'
import { grantPlanCredits } from '../../credit/plan-grant.ts'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { hashMailbox } from './mailbox-key.ts'

/** Months after the end of an account in which its mailbox gets no credits again. */
const rememberedMonths = 12

type Grant = {
  readonly userId: string
  readonly email: string
  readonly workspaceId: string
  readonly credits: number
}

/** Grants the credits unless the mailbox had them: in another account, or in one erased less than 12 months ago. */
export async function grantFreeCredits(tx: Db, masterKeys: MasterKeys, grant: Grant): Promise<void> {
  const { userId, email, workspaceId, credits } = grant
  if (credits === 0) return
  const mailbox = await hashMailbox(tx, masterKeys, email)
  const first = await tx
    .insertInto('free_credit')
    .values({ mailbox, user_id: userId, forget_at: null })
    .onConflict((conflict) =>
      conflict
        .column('mailbox')
        .doUpdateSet({ user_id: userId, forget_at: null })
        .where('free_credit.forget_at', '<=', sql<Date>`now()`),
    )
    .returning('mailbox')
    .executeTakeFirst()
  if (first === undefined) return
  await grantPlanCredits(tx, { workspaceId, plan: 'free', credits, period: null })
}

type Leaving = { readonly userId: string; readonly email: string }

/** Before an account is erased: what says that it had free credits stays for 12 months, without the account. */
export async function keepFreeCredits(tx: Db, masterKeys: MasterKeys, { userId, email }: Leaving): Promise<void> {
  const forgetAt = sql<Date>`now() + ${rememberedMonths} * interval '1 month'`
  await tx
    .updateTable('free_credit')
    .set({ user_id: null, forget_at: forgetAt })
    .where('user_id', '=', userId)
    .execute()
  if (!(await hadFreeCredits(tx, userId))) return
  // The account may have changed its address since, or be older than this table.
  await tx
    .insertInto('free_credit')
    .values({ mailbox: await hashMailbox(tx, masterKeys, email), user_id: null, forget_at: forgetAt })
    .onConflict((conflict) => conflict.column('mailbox').doNothing())
    .execute()
}

async function hadFreeCredits(tx: Db, userId: string): Promise<boolean> {
  const lot = await tx
    .selectFrom('credit_lot as l')
    .innerJoin('workspace as w', 'w.id', 'l.workspace_id')
    .select('l.id')
    .where('w.personal_of', '=', userId)
    .where('l.source', '=', 'plan:free:once')
    .executeTakeFirst()
  return lot !== undefined
}

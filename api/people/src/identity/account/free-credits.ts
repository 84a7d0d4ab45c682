// Credits of the plan Free are granted once per mailbox (D88); `free_credit` records the grant.

import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { foldMailbox } from '@matte/core/address'
import { grantPlanCredits } from '@matte/core/credit/plan-grant'
import type { Db } from '@matte/core/db/database'
import { type MasterKeys, seal, unseal } from '@matte/core/runtime/seal'
import { sql } from 'kysely'

/** Months after an erasure during which the mailbox gets no credits again. */
const rememberedMonths = 12

type Grant = {
  readonly userId: string
  readonly email: string
  readonly workspaceId: string
  readonly credits: number
}

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

/** Keeps the record of the grant for 12 months after the erasure, without the account. */
export async function retainFreeCreditRecord(
  tx: Db,
  masterKeys: MasterKeys,
  { userId, email }: Leaving,
): Promise<void> {
  const forgetAt = sql<Date>`now() + ${rememberedMonths} * interval '1 month'`
  await tx
    .updateTable('free_credit')
    .set({ user_id: null, forget_at: forgetAt })
    .where('user_id', '=', userId)
    .execute()
  if (!(await hadFreeCredits(tx, userId))) return
  // The account may have changed its address, or be older than this table.
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

/** HMAC of a mailbox. The address cannot be guessed from it without a master key. */
export async function hashMailbox(tx: Db, masterKeys: MasterKeys, email: string): Promise<Buffer> {
  const { id, key_sealed } = (await readKey(tx)) ?? (await makeKey(tx, masterKeys))
  const key = Buffer.from(unseal(masterKeys, id, key_sealed), 'base64')
  return createHmac('sha256', key).update(foldMailbox(email)).digest()
}

const readKey = (tx: Db) => tx.selectFrom('mailbox_key').select(['id', 'key_sealed']).executeTakeFirst()

async function makeKey(tx: Db, masterKeys: MasterKeys) {
  const id = randomUUID()
  await tx
    .insertInto('mailbox_key')
    .values({ id, key_sealed: seal(masterKeys, id, randomBytes(32).toString('base64')) })
    .onConflict((conflict) => conflict.column('single').doNothing())
    .execute()
  const made = await readKey(tx)
  if (made === undefined) throw new Error('the mailbox key was deleted during its creation')
  return made
}

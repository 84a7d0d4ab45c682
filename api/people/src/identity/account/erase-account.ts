// Deletes personal data; shared rows (ledger, invoices, a team's tasks and log) stay without a name.

import { hashAddress } from '@matte/core/address'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { invoicePdfKey } from '@matte/core/storage/object-key'
import { closeWorkspace } from '@matte/core/workspace/close-workspace'
import { sql } from 'kysely'
import { deleteMfaTokens } from '../session/pending-login.ts'
import { takeCodeIfOn } from '../two-factor/take-code.ts'
import { eraseRows } from './erase-rows.ts'
import { retainFreeCreditRecord } from './free-credits.ts'
import type { FindSubscription } from './own-workspaces.ts'
import { anonymise, lockPerson } from './person-queries.ts'

type EraseDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly findSubscription: FindSubscription
}

type Leaving = { readonly userId: string; readonly code: string | undefined; readonly audit?: Audit }

/**
 * Erases the account and closes its personal workspace and each team whose only member it is. Open tasks of a closed
 * workspace finish, then the sweep deletes them. API keys that the user created for teams are revoked.
 * @throws MatteError CONFLICT: last owner of a team with other members, or an active subscription, open order or open
 *   refund; INVALID_PARAMS, RATE_LIMIT_EXCEEDED: the code
 */
export async function eraseAccount(deps: EraseDeps, { userId, code, audit }: Leaving): Promise<void> {
  const { db, masterKeys } = deps
  const refused = await db.transaction().execute(async (tx) => {
    const workspaces = await lockWorkspaces(tx, userId)
    const { email } = await lockPerson(tx, userId)
    // In the lock order of a login.
    await deleteMfaTokens(tx, userId)
    const refused = await takeCodeIfOn(tx, masterKeys, { userId, code })
    if (refused !== undefined) return refused
    await audit?.(tx, userId) // the personal workspace still names the user
    const closing = await findClosing(tx, userId, workspaces)
    for (const id of closing) await refuseSubscribed(deps.findSubscription, tx, id)
    await refuseOpenPayments(tx, closing)
    await eraseInvoiceNames(tx, userId, closing)
    // Requires that the personal workspace still names the user.
    await retainFreeCreditRecord(tx, masterKeys, { userId, email })
    for (const id of closing) await closeWorkspace(tx, id)
    await sql`update api_key set revoked_at = now() where created_by = ${userId} and revoked_at is null`.execute(tx)
    await eraseRows(tx, { userId, email })
    await tx.deleteFrom('login_failure').where('account', '=', hashAddress(email)).execute()
    await anonymise(tx, userId)
    return undefined
  })
  if (refused !== undefined) throw refused
}

async function lockWorkspaces(tx: Db, userId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select w.id from workspace w where w.id in (select workspace_id from membership where user_id = ${userId})
     order by w.id for no key update of w`.execute(tx)
  return rows.map(({ id }) => id)
}

type OwnWorkspace = { readonly id: string; readonly others: number; readonly owners: number; readonly role: string }

/** Returns the workspaces without other members. Their locks keep members from joining or leaving. */
async function findClosing(tx: Db, userId: string, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<OwnWorkspace>`
    select own.workspace_id as id, own.role, count(o.user_id) as others,
           count(o.user_id) filter (where o.role = 'owner' and u.disabled_at is null and u.erased_at is null) as owners
      from membership own
      left join membership o on o.workspace_id = own.workspace_id and o.user_id <> own.user_id
      left join app_user u on u.id = o.user_id
     where own.user_id = ${userId} and own.workspace_id = any(${[...ids]}::uuid[])
     group by own.workspace_id, own.role order by own.workspace_id`.execute(tx)
  const orphans = rows.filter(({ role, others, owners }) => role === 'owner' && others > 0 && owners === 0)
  if (orphans.length > 0) {
    throw new MatteError(
      'CONFLICT',
      'You are the last owner of a team with other members. Make another member an owner first.',
      {
        details: { teams: orphans.map(({ id }) => id) },
      },
    )
  }
  return rows.filter(({ others }) => others === 0).map(({ id }) => id)
}

async function refuseSubscribed(find: FindSubscription, tx: Db, workspaceId: string): Promise<void> {
  const subscription = await find(tx, workspaceId)
  if (subscription?.renews) {
    throw new MatteError('CONFLICT', 'A workspace has an active subscription. Cancel it first.', {
      details: { workspaceId },
    })
  }
}

/** A checkout paid after the erasure would buy credits for a closed workspace. */
async function refuseOpenPayments(tx: Db, closing: readonly string[]): Promise<void> {
  const { rows } = await sql<{ openOrders: number; openRefunds: number }>`
    select (select count(*) from payment_order
             where workspace_id = any(${[...closing]}::uuid[]) and status in ('pending', 'failed')) as "openOrders",
           (select count(*) from refund
             where workspace_id = any(${[...closing]}::uuid[]) and status = 'pending') as "openRefunds"`.execute(tx)
  const { openOrders = 0, openRefunds = 0 } = rows[0] ?? {}
  if (openOrders === 0 && openRefunds === 0) return
  throw new MatteError('CONFLICT', 'Orders or refunds are open. Cancel the orders and wait for the refunds.', {
    details: { openOrders, openRefunds },
  })
}

/** Removes buyers; numbers and amounts stay. PDFs are deleted an hour later, after any request that renders one. */
async function eraseInvoiceNames(tx: Db, userId: string, closing: readonly string[]): Promise<void> {
  const orphaned = sql`
    w.id = any(${[...closing]}::uuid[]) or w.personal_of = ${userId} or
    (w.created_by = ${userId} and w.deleted_at is not null)`
  const { rows: erased } = await sql<{ id: string; issued_at: Date }>`
    update invoice set buyer = '{"name": "deleted", "addressLines": [], "taxId": null, "email": null}'
     where workspace_id in (select w.id from workspace w where ${orphaned})
    returning id, issued_at`.execute(tx)
  await sql`
    insert into object_deletion (object_key, due_at)
    select key, now() + interval '1 hour' from unnest(${erased.map(invoicePdfKey)}::text[]) as key
    on conflict do nothing`.execute(tx)
  await sql`
    update provider_event set raw = ''
     where raw <> '' and workspace_id in (select w.id from workspace w where ${orphaned})`.execute(tx)
  await sql`update workspace w set billing = null where ${orphaned} and w.billing is not null`.execute(tx)
}

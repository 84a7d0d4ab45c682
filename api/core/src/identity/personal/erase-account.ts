// The end of an account: what says who somebody was goes, in one transaction; what others have a part in stays and
// names nobody (the ledger, invoices, a team's tasks, its log).
import { sql } from 'kysely'
import { foldAddress, hashAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { invoicePdfKey } from '../../storage/object-key.ts'
import { closeWorkspace } from '../../workspace/close-workspace.ts'
import { keepFreeCredits } from '../free-credits/free-credits.ts'
import { deleteMfaTokens } from '../two-factor/mfa-token.ts'
import { takeCodeIfOn } from '../two-factor/take-code.ts'
import { anonymise, lockPerson } from './person-queries.ts'
import { personalData } from './personal-data.ts'
import type { FindSubscription } from './subscription.ts'

type EraseDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly findSubscription: FindSubscription
}

type Leaving = { readonly userId: string; readonly code: string | undefined }

/**
 * Erases the account and closes its personal workspace, and each team whose only member it is. Tasks of a closed
 * workspace that are queued or processing end as ever, and the sweep then deletes them. Keys that the person made for
 * teams are revoked (D11).
 * @throws MatteError CONFLICT: last owner of a team with other members, a subscription goes on, or an order or a refund
 *   is open; INVALID_PARAMS, RATE_LIMIT_EXCEEDED: the code
 */
export async function eraseAccount(deps: EraseDeps, { userId, code }: Leaving): Promise<void> {
  const { db, masterKeys } = deps
  const refused = await db.transaction().execute(async (tx) => {
    const workspaces = await lockWorkspaces(tx, userId)
    const { email } = await lockPerson(tx, userId)
    // In the order in which a login takes their locks.
    await deleteMfaTokens(tx, userId)
    const refused = await takeCodeIfOn(tx, masterKeys, { userId, code })
    if (refused !== undefined) return refused
    const closing = await judgeWorkspaces(tx, userId, workspaces)
    for (const id of closing) await refuseSubscribed(deps.findSubscription, tx, id)
    await refuseOpenPayments(tx, closing)
    await eraseInvoiceNames(tx, userId, closing)
    // While the personal workspace still names the person.
    await keepFreeCredits(tx, masterKeys, { userId, email })
    for (const id of closing) await closeWorkspace(tx, id)
    await sql`update api_key set revoked_at = now() where created_by = ${userId} and revoked_at is null`.execute(tx)
    await eraseRows(tx, userId, email)
    await anonymise(tx, userId)
    return undefined
  })
  if (refused !== undefined) throw refused
}

/** All that the person is in, in one order for everybody. */
async function lockWorkspaces(tx: Db, userId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select w.id from workspace w where w.id in (select workspace_id from membership where user_id = ${userId})
     order by w.id for no key update of w`.execute(tx)
  return rows.map(({ id }) => id)
}

type Judged = { readonly id: string; readonly others: number; readonly owners: number; readonly role: string }

/** Those that nobody else is in. Read under their locks, so that nobody joins or leaves meanwhile. */
async function judgeWorkspaces(tx: Db, userId: string, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<Judged>`
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
      'You are the last owner of a team with other members: make one of them an owner.',
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
    throw new MatteError('CONFLICT', 'A subscription would go on being charged: cancel it first.', {
      details: { workspaceId },
    })
  }
}

/** A checkout that is paid after the end would bring credits that nobody can spend. */
async function refuseOpenPayments(tx: Db, closing: readonly string[]): Promise<void> {
  const { rows } = await sql<{ openOrders: number; openRefunds: number }>`
    select (select count(*) from payment_order
             where workspace_id = any(${[...closing]}::uuid[]) and status in ('pending', 'failed')) as "openOrders",
           (select count(*) from refund
             where workspace_id = any(${[...closing]}::uuid[]) and status = 'pending') as "openRefunds"`.execute(tx)
  const { openOrders = 0, openRefunds = 0 } = rows[0] ?? {}
  if (openOrders === 0 && openRefunds === 0) return
  throw new MatteError('CONFLICT', 'Orders or refunds are open: cancel the orders, and wait for the refunds.', {
    details: { openOrders, openRefunds },
  })
}

/**
 * Numbers and amounts of invoices are kept; those of a team that goes on are the team's. Those of one that the person
 * made and that was deleted before name that person, or members who are gone from it as well. Bodies of the provider's
 * events name the payer, so they are emptied. Stored PDFs are deleted after an hour, later than the end of any request
 * that prints one now (payment/invoice-pdf.ts).
 */
async function eraseInvoiceNames(tx: Db, userId: string, closing: readonly string[]): Promise<void> {
  const nobodys = sql`
    w.id = any(${[...closing]}::uuid[]) or w.personal_of = ${userId} or
    (w.created_by = ${userId} and w.deleted_at is not null)`
  const { rows: erased } = await sql<{ id: string; issued_at: Date }>`
    update invoice set buyer = '{"name": "deleted", "addressLines": [], "taxId": null, "email": null}'
     where workspace_id in (select w.id from workspace w where ${nobodys})
    returning id, issued_at`.execute(tx)
  await sql`
    insert into object_deletion (object_key, due_at)
    select key, now() + interval '1 hour' from unnest(${erased.map(invoicePdfKey)}::text[]) as key
    on conflict do nothing`.execute(tx)
  await sql`
    update provider_event set raw = ''
     where raw <> '' and workspace_id in (select w.id from workspace w where ${nobodys})`.execute(tx)
  await sql`update workspace w set billing = null where ${nobodys} and w.billing is not null`.execute(tx)
}

async function eraseRows(tx: Db, userId: string, email: string): Promise<void> {
  for (const [place, { of, erased }] of Object.entries(personalData)) {
    if (of === 'workspace' || (erased !== 'rows' && 'kept' in erased)) continue
    const [table = '', column = ''] = place.split('.')
    const [name, ref] = [sql.table(table), sql.ref(column)]
    const owner = of === 'person' ? sql`${ref} = ${userId}` : sql`${ref} = ${foldAddress(email)}`
    if (erased === 'rows') await sql`delete from ${name} where ${owner}`.execute(tx)
    else await sql`update ${name} set ${emptied(erased.columns)} where ${owner}`.execute(tx)
  }
  await tx.deleteFrom('login_failure').where('account', '=', hashAddress(email)).execute()
}

const emptied = (columns: readonly string[]) => sql.join(columns.map((name) => sql`${sql.ref(name)} = null`))

// Notifies about endpoints that fail for days, then disables them (D65). Notices are due one and three days after the
// first failure. A failed attempt five days after it disables the endpoint, so an endpoint without traffic stays
// enabled. A success, a new target URL and enabling the endpoint reset both.
import { sql } from 'kysely'
import { recordChange } from '../../audit/record-change.ts'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import { pauseEndpointDeliveries } from './pause-deliveries.ts'

/** Days without a success: first notice, second notice, and the age of the first failure that disables. */
const noticeDays = [1, 3] as const
const disabledAfterDays = 5

export type EndpointNotice = {
  readonly kind: 'failing' | 'disabled'
  readonly endpointId: string
  readonly targetHost: string
  readonly workspaceName: string
  /** ISO 8601. */
  readonly failingSince: string
  readonly disabledAfterDays: number
}

/**
 * Locks the recipients of a workspace's notices, and returns the function that notifies them. Recipients are locked
 * before the endpoint, in the order in which an erasure locks an account.
 */
export type LockRecipients = (tx: Db, workspaceId: string) => Promise<(notice: EndpointNotice) => Promise<void>>

/** For an installation without accounts: endpoints are disabled without notices. */
export const noRecipients: LockRecipients = async () => async () => undefined

const days = (count: number) => sql`${count} * interval '1 day'`

const isDisabledBy = sql<boolean>`e.failed_at - e.failing_since >= ${days(disabledAfterDays)}`

/** Number of notices due so far. */
const noticesDue = ({ now }: SweepPass) => sql<number>`(
  select count(*)::int from unnest(${noticeDays}::int[]) d
   where coalesce(${now ?? null}::timestamptz, now()) - e.failing_since >= d * interval '1 day')`

/** Sends due notices and disables endpoints; returns the number of endpoints. */
export async function disableFailingEndpoints(
  db: Db,
  lockRecipients: LockRecipients,
  pass: SweepPass = {},
): Promise<number> {
  const failing = await failingEndpoints(db)
    .select(['e.id', 'e.workspace_id as workspaceId'])
    .where(sql<boolean>`e.id <> all(${idsAside(pass)}::uuid[])`)
    .where(sql<boolean>`(${isDisabledBy} or e.failing_notices < ${noticesDue(pass)})`)
    .orderBy('e.failing_since')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(failing, pass, async ({ id, workspaceId }) => {
    const outcome = await db
      .transaction()
      .execute((tx) => noticeOrDisable(tx, lockRecipients, { id, workspaceId, pass }))
    // After the commit: deliveries are locked before their endpoint (end-attempt.ts). If this process dies here, a
    // dispatcher pauses each delivery when it claims it.
    if (outcome === 'disabled') await pauseEndpointDeliveries(db, id)
    return outcome === undefined ? 0 : 1
  })
}

const failingEndpoints = (db: Db) =>
  db
    .selectFrom('webhook_endpoint as e')
    .where('e.failing_since', 'is not', null)
    // Dispatchers older than these columns record a success without resetting `failing_since`.
    .where('e.last_delivery_status', '=', 'failed')
    .where('e.status', '=', 'enabled')
    .where('e.deleted_at', 'is', null)

type Failing = { readonly id: string; readonly workspaceId: string; readonly pass: SweepPass }

/** The loop acts for the owner of the endpoint, without a request. */
const bySystem = {
  ...({ actor: 'system', userId: null, apiKeyId: null, ipAddress: null, userAgent: null } as const),
  ...{ requestId: null, clientRequestId: null, reason: null },
}

/** Undefined: the endpoint has succeeded since, or another replica handled it. */
async function noticeOrDisable(
  tx: Db,
  lockRecipients: LockRecipients,
  { id, workspaceId, pass }: Failing,
): Promise<EndpointNotice['kind'] | undefined> {
  const notify = await lockRecipients(tx, workspaceId)
  const row = await failingEndpoints(tx)
    .innerJoin('workspace as w', 'w.id', 'e.workspace_id')
    .select(['e.target_host', 'e.failing_notices', 'w.name', 'w.personal_of'])
    .select([isDisabledBy.as('disables'), noticesDue(pass).as('notices_due')])
    .select(sql<Date>`e.failing_since`.as('failing_since'))
    .where('e.id', '=', id)
    .forUpdate('e')
    .executeTakeFirst()
  if (row === undefined || (!row.disables && row.failing_notices >= row.notices_due)) return undefined
  await tx
    .updateTable('webhook_endpoint')
    .set(
      row.disables
        ? { status: 'disabled', disabled_reason: 'FAILING', updated_at: sql<Date>`now()`, dropped_deliveries: 0 }
        : { failing_notices: row.notices_due },
    )
    .where('id', '=', id)
    .execute()
  if (row.disables) await recordChange(tx, { ...bySystem, workspaceId, action: 'disableFailingWebhook', target: id })
  const kind = row.disables ? 'disabled' : 'failing'
  await notify({
    kind,
    endpointId: id,
    targetHost: row.target_host,
    // The name of a personal workspace is often its owner's email address.
    workspaceName: row.personal_of === null ? row.name : 'your personal workspace',
    failingSince: row.failing_since.toISOString(),
    disabledAfterDays,
  })
  return kind
}

// Endpoints that fail for days (D65). Notices go by the clock: after one day and after three without a success. What
// disables is a failed attempt five days after the first, so that an endpoint that nothing was sent to meanwhile is not
// judged by attempts of last week alone. A success, another target and enabling reset both.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import type { MailData } from '../../mail/templates.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { pauseEndpointDeliveries } from '../endpoint/pause-deliveries.ts'
import { lockStaff } from './lock-staff.ts'

/** Days without a success: of the first notice, of the second, and until a failure disables. */
const noticeDays = [1, 3] as const
const disabledAfterDays = 5

const days = (count: number) => sql`${count} * interval '1 day'`

/** `now`: as of that time. */
const isDisabledBy = sql<boolean>`e.failed_at - e.failing_since >= ${days(disabledAfterDays)}`

/** How many notices there should have been by now. */
const noticesDue = ({ now }: SweepPass) => sql<number>`(
  select count(*)::int from unnest(${noticeDays}::int[]) d
   where coalesce(${now ?? null}::timestamptz, now()) - e.failing_since >= d * interval '1 day')`

/** Gives notices and disables; returns how many endpoints it was. */
export async function judgeFailing(db: Db, masterKeys: MasterKeys, pass: SweepPass = {}): Promise<number> {
  const failing = await failingEndpoints(db)
    .select(['e.id', 'e.workspace_id as workspaceId'])
    .where(sql<boolean>`e.id <> all(${idsAside(pass)}::uuid[])`)
    .where(sql<boolean>`(${isDisabledBy} or e.failing_notices < ${noticesDue(pass)})`)
    .orderBy('e.failing_since')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(failing, pass, async ({ id, workspaceId }) => {
    const judged = await db.transaction().execute((tx) => judge(tx, masterKeys, { id, workspaceId, pass }))
    // After the commit: deliveries come before their endpoint in the order of locks (end-attempt.ts). If this process
    // dies before, a dispatcher pauses them one by one when it claims them.
    if (judged === 'disabled') await pauseEndpointDeliveries(db, id)
    return judged === undefined ? 0 : 1
  })
}

const failingEndpoints = (db: Db) =>
  db
    .selectFrom('webhook_endpoint as e')
    .where('e.failing_since', 'is not', null)
    // A success that a dispatcher from before these columns recorded leaves the time beside it.
    .where('e.last_delivery_status', '=', 'failed')
    .where('e.status', '=', 'enabled')
    .where('e.deleted_at', 'is', null)

type Judging = { readonly id: string; readonly workspaceId: string; readonly pass: SweepPass }

/** Undefined: it has succeeded since, or another replica was first. */
async function judge(
  tx: Db,
  masterKeys: MasterKeys,
  { id, workspaceId, pass }: Judging,
): Promise<'disabled' | 'noticed' | undefined> {
  const staff = await lockStaff(tx, workspaceId, ['owner', 'admin'])
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
  const endpoint = {
    targetHost: row.target_host,
    endpointId: id,
    // A personal one is named after its owner, often by the address.
    workspaceName: row.personal_of === null ? row.name : 'your personal workspace',
    failingSince: row.failing_since.toISOString(),
  }
  const mail: MailData = row.disables
    ? { template: 'endpoint-disabled', data: endpoint }
    : { template: 'endpoint-failing', data: { ...endpoint, disabledAfterDays } }
  for (const { id: userId, email: to } of staff) {
    await queueMail(tx, masterKeys, { ...mail, key: null, to, userId })
  }
  return row.disables ? 'disabled' : 'noticed'
}

// Mails about API keys that expire within a week, to their creators and the owners.
import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { queueMail } from '../mail/mail-queue.ts'
import type { DataOf } from '../mail/templates.ts'
import { lockMembers } from './endpoint-notices.ts'

const noticeDays = 7
const notice = sql`${noticeDays} * interval '1 day'`

/** A key that was rolled has a successor, and a key that never lives longer than the notice needs none. */
const dueKeys = (db: Db) =>
  db
    .selectFrom('api_key as k')
    .where('k.revoked_at', 'is', null)
    .where('k.successor_id', 'is', null)
    .where('k.expiry_notice_at', 'is', null)
    .where(sql<boolean>`k.expires_at > now() and k.expires_at <= now() + ${notice}`)
    .where(sql<boolean>`k.expires_at - k.created_at > ${notice}`)

/** Announces each expiry once, in one mail for each recipient and workspace; returns the number of workspaces. */
export async function announceKeyExpiry(db: Db, masterKeys: MasterKeys, pass: SweepPass = {}): Promise<number> {
  const due = await dueKeys(db)
    .select('k.workspace_id as id')
    .distinct()
    .where(sql<boolean>`k.workspace_id <> all(${idsAside(pass)}::uuid[])`)
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(due, pass, ({ id }) => db.transaction().execute((tx) => mailExpiringKeys(tx, masterKeys, id)))
}

type ExpiringKey = DataOf<'keys-expiring'>['keys'][number] & { readonly creator: string | null }

/** 0: another replica was first. */
async function mailExpiringKeys(tx: Db, masterKeys: MasterKeys, workspaceId: string): Promise<number> {
  const members = await lockMembers(tx, workspaceId, ['owner', 'admin'])
  const keys = await takeKeys(tx, workspaceId)
  if (keys.length === 0) return 0
  const { name, personal_of } = await tx
    .selectFrom('workspace')
    .select(['name', 'personal_of'])
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  // The name of a personal workspace is often its owner's email address.
  const workspaceName = personal_of === null ? name : null
  for (const { id: userId, email: to, role } of members) {
    const concerned = keys.filter(({ creator }) => role === 'owner' || creator === userId)
    if (concerned.length === 0) continue
    const data = { workspaceName, keys: concerned.map(({ creator: _, ...key }) => key) }
    await queueMail(tx, masterKeys, { template: 'keys-expiring', data, key: null, to, userId })
  }
  return 1
}

async function takeKeys(tx: Db, workspaceId: string): Promise<ExpiringKey[]> {
  const due = await dueKeys(tx)
    .select(['k.id', 'k.name', 'k.last_four', 'k.created_by'])
    .select(sql<Date>`k.expires_at`.as('expires_at'))
    .where('k.workspace_id', '=', workspaceId)
    .orderBy('k.expires_at')
    .forUpdate()
    .execute()
  if (due.length === 0) return []
  const ids = due.map(({ id }) => id)
  await tx.updateTable('api_key').set({ expiry_notice_at: sql<Date>`now()` }).where('id', 'in', ids).execute()
  return due.map(({ name, last_four: lastFour, expires_at, created_by: creator }) => ({
    ...{ name, lastFour, creator },
    expiresAt: expires_at.toISOString(),
  }))
}

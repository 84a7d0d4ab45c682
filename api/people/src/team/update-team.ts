import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { invalidParams } from '@matte/core/invalid-params'
import { sql } from 'kysely'
import { lockTeam, type TeamMember } from './lock-team.ts'

export async function renameTeam(db: Db, owner: TeamMember, name: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    await tx.updateTable('workspace').set({ name }).where('id', '=', owner.teamId).execute()
  })
}

/** Longest life in days of keys that are made from now on; null: no limit. Existing keys keep their expiry. */
export async function setKeyPolicy(db: Db, actor: TeamMember, maxKeyDays: number | null): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, actor, ['owner', 'admin'])
    await tx.updateTable('workspace').set({ max_key_days: maxKeyDays }).where('id', '=', actor.teamId).execute()
  })
}

type MemberLimit = {
  readonly userId: string
  /** Credits a month; null: no limit. */
  readonly monthlyLimit: number | null
}

/** Members not listed have no limit. @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, INVALID_PARAMS: not a member */
export async function setMemberLimits(db: Db, actor: TeamMember, limits: readonly MemberLimit[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, actor, ['owner', 'admin', 'billing'])
    const ids = limits.map(({ userId }) => userId)
    const amounts = limits.map(({ monthlyLimit }) => monthlyLimit)
    const { rows } = await sql<{ userId: string }>`
      update membership m set credit_limit = l.amount
        from membership s left join unnest(${ids}::uuid[], ${amounts}::int[]) as l (user_id, amount) using (user_id)
       where s.workspace_id = ${actor.teamId} and m.workspace_id = s.workspace_id and m.user_id = s.user_id
      returning m.user_id as "userId"`.execute(tx)
    const members = new Set(rows.map(({ userId }) => userId))
    const issues = limits.flatMap(({ userId }, index) => {
      if (!members.has(userId)) return [{ path: `/body/limits/${index}/userId`, message: 'must be a member' }]
      const isRepeated = ids.indexOf(userId) < index
      return isRepeated ? [{ path: `/body/limits/${index}/userId`, message: 'must not be named twice' }] : []
    })
    if (issues.length > 0) throw invalidParams(issues)
  })
}

import { sql } from 'kysely'
import { recordChange } from '../audit/record-change.ts'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { lockCount } from './lock-count.ts'

/** Who does it from where, for the log of the team that the request does not name. */
export type Doer = { readonly userId: string; readonly ipAddress: string | null; readonly requestId: string }

type CreateTeam = {
  readonly doer: Doer
  readonly name: string
  /** The request's idempotency key, if it has one. */
  readonly once?: OnceRequest | undefined
}

/** Teams of one owner, and teams that one person makes in 24 hours, be they deleted again. */
const ownedMax = 20
const madePerDayMax = 20

/**
 * A team on the plan Free, with whoever made it as its owner. It gets no credits of the plan: those are a person's,
 * once, in the personal workspace (A99).
 * @throws MatteError CONFLICT: enough teams; RATE_LIMIT_EXCEEDED: too many today; AlreadyCreated
 */
export function createTeam(db: Db, { doer, name, once }: CreateTeam): Promise<{ id: string }> {
  return createOnce(db, once, async (tx) => {
    const { userId } = doer
    await lockCount(tx, 'teams', userId)
    await refuseMore(tx, userId)
    const team = await tx
      .insertInto('workspace')
      .values({ name, kind: 'team', plan: 'free', created_by: userId })
      .returning('id')
      .executeTakeFirstOrThrow()
    await tx.insertInto('membership').values({ workspace_id: team.id, user_id: userId, role: 'owner' }).execute()
    await recordChange(tx, { ...doer, workspaceId: team.id, action: 'createTeam', target: team.id })
    return team
  })
}

async function refuseMore(tx: Db, userId: string): Promise<void> {
  const { rows } = await sql<{ owned: number; made: number; retryAfterSeconds: number }>`
    select (select count(*) from membership s join workspace w on w.id = s.workspace_id
             where s.user_id = ${userId} and s.role = 'owner' and w.personal_of is null) as owned,
           count(*) as made,
           extract(epoch from min(created_at) + interval '24 hours' - now())::float8 as "retryAfterSeconds"
      from workspace where created_by = ${userId} and created_at > now() - interval '24 hours'`.execute(tx)
  const { owned = 0, made = 0, retryAfterSeconds = 0 } = rows[0] ?? {}
  if (owned >= ownedMax) {
    throw new MatteError('CONFLICT', `You own ${owned} teams; hand one over or delete it before you make another.`, {
      details: { limit: ownedMax },
    })
  }
  if (made >= madePerDayMax) {
    throw new MatteError('RATE_LIMIT_EXCEEDED', `You can make ${madePerDayMax} teams in 24 hours.`, {
      details: { limit: 'teams', perDay: madePerDayMax },
      retryAfterSeconds,
    })
  }
}

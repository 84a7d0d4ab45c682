import { type ChangeOrigin, recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import { sql } from 'kysely'
import { lockCount } from './lock-team.ts'

export type Doer = { readonly userId: string; readonly origin: ChangeOrigin }

type CreateTeam = {
  readonly doer: Doer
  readonly name: string
  readonly once?: OnceRequest | undefined
}

/** Teams per owner, and teams created per user in 24 hours, including deleted ones. */
const ownedMax = 20
const madePerDayMax = 20

/** @throws MatteError CONFLICT: maximum of teams; RATE_LIMIT_EXCEEDED: too many today; AlreadyCreated */
export function createTeam(db: Db, { doer, name, once }: CreateTeam): Promise<{ id: string }> {
  return createOnce(db, once, async (tx) => {
    const { userId } = doer
    await refuseMoreOwned(tx, userId)
    await refuseMoreMade(tx, userId)
    const team = await tx
      .insertInto('workspace')
      .values({ name, kind: 'team', plan: 'free', created_by: userId })
      .returning('id')
      .executeTakeFirstOrThrow()
    await tx.insertInto('membership').values({ workspace_id: team.id, user_id: userId, role: 'owner' }).execute()
    const change = { workspaceId: team.id, action: 'createTeam', target: team.id, reason: null }
    await recordChange(tx, { ...doer.origin, ...change })
    return team
  })
}

/** The lock makes concurrent transactions count each other. @throws MatteError CONFLICT: maximum of teams */
export async function refuseMoreOwned(tx: Db, userId: string): Promise<void> {
  await lockCount(tx, 'teams', userId)
  const { owned } = await tx
    .selectFrom('membership as s')
    .innerJoin('workspace as w', 'w.id', 's.workspace_id')
    .select((eb) => eb.fn.countAll<number>().as('owned'))
    .where('s.user_id', '=', userId)
    .where('s.role', '=', 'owner')
    .where('w.personal_of', 'is', null)
    .executeTakeFirstOrThrow()
  if (owned < ownedMax) return
  throw new MatteError('CONFLICT', `A user can own at most ${ownedMax} teams. Transfer or delete one first.`, {
    details: { limit: ownedMax },
  })
}

async function refuseMoreMade(tx: Db, userId: string): Promise<void> {
  const { rows } = await sql<{ made: number; retryAfterSeconds: number }>`
    select count(*) as made,
           extract(epoch from min(created_at) + interval '24 hours' - now())::float8 as "retryAfterSeconds"
      from workspace where created_by = ${userId} and created_at > now() - interval '24 hours'`.execute(tx)
  const { made = 0, retryAfterSeconds = 0 } = rows[0] ?? {}
  if (made >= madePerDayMax) {
    throw new MatteError('RATE_LIMIT_EXCEEDED', `You can create ${madePerDayMax} teams in 24 hours.`, {
      details: { limit: 'teams', perDay: madePerDayMax },
      retryAfterSeconds,
    })
  }
}

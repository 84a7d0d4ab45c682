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
    await refuseMoreOwned(tx, userId)
    await refuseMoreMade(tx, userId)
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

/**
 * For every transaction that makes somebody an owner: of two at once, over whatever teams, the second counts the first.
 * A team's row is locked before.
 * @throws MatteError CONFLICT: enough teams
 */
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
  throw new MatteError('CONFLICT', `One person owns ${ownedMax} teams at most: hand one over or delete it first.`, {
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
    throw new MatteError('RATE_LIMIT_EXCEEDED', `You can make ${madePerDayMax} teams in 24 hours.`, {
      details: { limit: 'teams', perDay: madePerDayMax },
      retryAfterSeconds,
    })
  }
}

// People who registered with a referral code, as rows.
import { randomBytes } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import { readBalance } from '@matte/core/credit/balance'
import type { Db } from '@matte/core/db/database'
import { finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { joinReferred } from '@matte/people/referral/join-referred'
import { readCode } from '@matte/people/referral/referral-code'
import { rewardReferrals } from '@matte/people/referral/reward-referrals'
import { sql } from 'kysely'
import { claimNext, givenTask, ownModel, success } from '../factories.ts'
import { processDb } from '../roles.ts'

export const reward = 50
export const newAddress = (): string => `r-${randomBytes(6).toString('hex')}@example.com`

type Registration = {
  readonly email?: string
  readonly code?: string
  readonly from?: string
  readonly hoursAgo?: number
  readonly verified?: boolean
}
type Registered = { readonly id: string; readonly workspaceId: string }

export async function register(
  db: Db,
  { email = newAddress(), code, from, hoursAgo = 0, verified = true }: Registration = {},
) {
  const { rows } = await sql<{ id: string }>`
    insert into app_user (email, email_key, email_verified_at, referral_code, registered_from, created_at)
    values (${email}, ${foldAddress(email)}, case when ${verified}::boolean then now() end, ${code ?? null}::text,
            ${from ?? null}::inet, now() - ${hoursAgo}::float8 * interval '1 hour')
    returning id`.execute(db)
  const id = rows[0]?.id ?? ''
  const { id: workspaceId } = await insertWorkspace(db, { name: 'personal', plan: 'internal' })
  await db.updateTable('workspace').set({ personal_of: id }).where('id', '=', workspaceId).execute()
  return { id, workspaceId } satisfies Registered
}

async function succeedOnce(db: Db, { workspaceId }: Registered): Promise<void> {
  const model = ownModel()
  await givenTask(db, { id: workspaceId, plan: planNamed(defaultPlans, 'internal') }, { model })
  const claim = await claimNext(db, [model])
  if (claim === undefined) throw new Error('the task could not be claimed')
  await finishTask(db, claim, success(claim))
}

/** Referral actions on the database of the test file. */
export const referrals = (database: { readonly db: Db }) => ({
  register: (wanted?: Registration) => register(database.db, wanted),
  /** A referrer with a code, and the account that registered with it. */
  givenPair: async (referrer: Registration = {}, invited: Registration = {}) => {
    const ann = await register(database.db, referrer)
    const code = await readCode(database.db, ann.id)
    return { ann, code, bob: await register(database.db, { ...invited, code }) }
  },
  succeedOnce: (whose: Registered) => succeedOnce(database.db, whose),
  referralOf: ({ id }: Registered) =>
    database.db.selectFrom('referral').selectAll().where('invited_id', '=', id).executeTakeFirst(),
  makeDue: () => makeDue(database.db),
  /** Skips the waiting time unless the test is about it. */
  pass: async ({ credits = reward, autoApprove = true } = {}): Promise<number> => {
    const db = processDb('dispatcher', database.db)
    await joinReferred(db)
    await makeDue(database.db)
    return rewardReferrals(db, { credits, autoApprove })
  },
  balanceOf: async ({ workspaceId }: Registered) => (await readBalance(database.db, workspaceId)).available,
  eventsOf: ({ id }: Registered) =>
    database.db.selectFrom('notification_due').select(['event', 'fields']).where('user_id', '=', id).execute(),
})

/** Ends the pause before the next check. */
const makeDue = (db: Db) => sql`update referral set check_at = now() where check_at is not null`.execute(db)

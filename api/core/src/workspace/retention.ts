// How long a finished task and its images are kept: as its task chose, else its workspace, else the installation, and
// never longer than the plan allows (D24).
import type { Db } from '../db/database.ts'
import type { Issue } from '../invalid-params.ts'
import type { Plan, Plans } from './plan.ts'

/** Receivers of webhooks and people need some time to fetch a result. */
export const retentionSecondsMin = 600

const daySeconds = 86_400
/** 63 years, within PostgreSQL's integer. */
const secondsMax = 2_000_000_000

export const planRetentionSeconds = ({ retentionDays }: Pick<Plan, 'retentionDays'>): number =>
  Math.min(retentionDays * daySeconds, secondsMax)

/** Undefined: the plan allows it. */
export function findRetentionIssue(plan: Plan, seconds: number | null, path: string): Issue | undefined {
  const max = planRetentionSeconds(plan)
  if (seconds === null || seconds <= max) return undefined
  return { path, message: `must be at most ${max}, the seconds of ${plan.retentionDays} days, which your plan allows` }
}

/** Gives the installation's default to every plan that sets none. */
export function withDefaultRetention(plans: Plans, seconds: number | null): Plans {
  const named = Object.entries(plans).map(([name, plan]) => {
    return [name, { ...plan, defaultRetentionSeconds: plan.defaultRetentionSeconds ?? seconds }] as const
  })
  return Object.freeze(Object.fromEntries(named))
}

export type Retention = {
  /** The workspace's choice; null: none. */
  readonly retention: number | null
  /** Seconds in force for tasks that chose none. */
  readonly effective: number
  readonly min: number
  readonly max: number
}

export function toRetention(plan: Plan, chosen: number | null): Retention {
  const max = planRetentionSeconds(plan)
  const effective = Math.min(max, chosen ?? plan.defaultRetentionSeconds ?? max)
  return { retention: chosen, effective, min: retentionSecondsMin, max }
}

export async function readRetention(db: Db, workspaceId: string): Promise<number | null> {
  const query = db.selectFrom('workspace').select('retention_seconds as seconds').where('id', '=', workspaceId)
  return (await query.executeTakeFirstOrThrow()).seconds
}

/** Also for tasks that have ended: the next sweep deletes those that are too old. False: no such workspace. */
export async function writeRetention(tx: Db, workspaceId: string, seconds: number | null): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('workspace')
    .set({ retention_seconds: seconds })
    .where('id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

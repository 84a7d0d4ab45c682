import { expireCredits } from '../credit/expire-credits.ts'
import type { Db } from '../db/database.ts'
import type { Bucket } from '../storage/bucket.ts'
import type { Plans } from '../workspace/plan.ts'
import { announceCleanups } from './announce-cleanup.ts'
import { deleteDueObjects } from './delete-objects.ts'
import { deleteOldTasks } from './delete-tasks.ts'
import { type RetentionPass, releaseUnusedUploads } from './release-uploads.ts'

type RetentionDeps = {
  readonly db: Db
  readonly plans: Plans
  /** Without a store objects stay, and their lines wait for a sweep that has one. */
  readonly bucket: Pick<Bucket, 'delete' | 'list'> | undefined
}

type RetentionCounts = {
  readonly credits_expired: number
  readonly uploads_released: number
  readonly tasks_deleted: number
  readonly cleanups_announced: number
  readonly objects_deleted: number
}

/** Rounds of one sweep; what is left after them is the next sweep's. */
const roundsMax = 1_000

/**
 * Everything that ends by time: credits, unused uploads, old tasks, the objects of both, and the day's notices.
 * In rounds of bounded size until nothing is left; any number of sweepers may do it at once. The store comes last, so
 * that one that is down holds nothing else up.
 */
export async function sweepRetention(
  { db, plans, bucket }: RetentionDeps,
  { now, signal }: { now?: Date | undefined; signal?: AbortSignal } = {},
): Promise<RetentionCounts> {
  const all = (round: (pass: RetentionPass) => Promise<number>) => untilDone(() => round({ now, signal }), signal)
  return {
    credits_expired: await all((pass) => expireCredits(db, pass)),
    uploads_released: await all((pass) => releaseUnusedUploads(db, pass)),
    tasks_deleted: await all((pass) => deleteOldTasks(db, plans, pass)),
    cleanups_announced: await all((pass) => announceCleanups(db, plans, pass)),
    objects_deleted: bucket === undefined ? 0 : await all((pass) => deleteDueObjects(db, bucket, pass)),
  }
}

async function untilDone(round: () => Promise<number>, signal: AbortSignal | undefined): Promise<number> {
  let sum = 0
  for (let rounds = 0; rounds < roundsMax && !signal?.aborted; rounds++) {
    const done = await round()
    if (done === 0) break
    sum += done
  }
  return sum
}

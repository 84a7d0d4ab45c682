import { deleteOldChanges } from '../audit/old-changes.ts'
import { expireCredits } from '../credit/expire-credits.ts'
import type { Db } from '../db/database.ts'
import { sweepParts } from '../db/sweep.ts'
import { deleteOldMails } from '../mail/old-mails.ts'
import { deleteOldNotifications } from '../notification/old-notifications.ts'
import type { Bucket } from '../storage/bucket.ts'
import type { Plans } from '../workspace/plan.ts'
import { announceCleanups } from './announce-cleanup.ts'
import { deleteDueObjects } from './delete-objects.ts'
import { deleteOldTasks } from './delete-tasks.ts'
import { releaseUnusedUploads } from './release-uploads.ts'

type RetentionDeps = {
  readonly db: Db
  readonly plans: Plans
  readonly auditRetentionDays: number
  /** Without a store objects stay, and their lines wait for a sweep that has one. */
  readonly bucket: Pick<Bucket, 'delete' | 'list'> | undefined
}

/** In this order: the store comes last, so that one that hangs holds nothing else up. */
export const retentionParts = [
  'credits_expired',
  'uploads_released',
  'tasks_deleted',
  'cleanups_announced',
  'notifications_deleted',
  'mails_deleted',
  'audit_entries_deleted',
  'objects_deleted',
] as const

/**
 * Everything that ends by time: credits, unused uploads, old tasks, the objects of both, the day's notices, old
 * notifications, mails and entries of audit logs. In rounds of bounded size until nothing is left; any number of
 * sweepers may do it at once.
 */
export const sweepRetention = (
  { db, plans, auditRetentionDays, bucket }: RetentionDeps,
  options: { now?: Date | undefined; signal?: AbortSignal } = {},
) =>
  sweepParts<(typeof retentionParts)[number]>(
    {
      credits_expired: (pass) => expireCredits(db, pass),
      uploads_released: (pass) => releaseUnusedUploads(db, pass),
      tasks_deleted: (pass) => deleteOldTasks(db, plans, pass),
      cleanups_announced: (pass) => announceCleanups(db, plans, pass),
      notifications_deleted: (pass) => deleteOldNotifications(db, pass),
      mails_deleted: (pass) => deleteOldMails(db, pass),
      audit_entries_deleted: (pass) => deleteOldChanges(db, auditRetentionDays, pass),
      objects_deleted: async (pass) => (bucket === undefined ? 0 : deleteDueObjects(db, bucket, pass)),
    },
    options,
  )

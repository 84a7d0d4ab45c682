import { expireCredits } from '../credit/expire-credits.ts'
import type { Db } from '../db/database.ts'
import { sweepParts } from '../db/sweep.ts'
import type { Bucket } from '../storage/bucket.ts'
import { deleteOldAddresses } from '../workspace/key/key-use.ts'
import type { Plans } from '../workspace/plan.ts'
import { announceCleanups } from './announce-cleanup.ts'
import { deleteDueObjects } from './delete-objects.ts'
import {
  deleteOldAuditEntries,
  deleteOldFetches,
  deleteOldMails,
  deleteOldNotifications,
  deleteOldPoolRecords,
} from './delete-old-rows.ts'
import { deleteOldTasks } from './delete-tasks.ts'
import { releaseUnusedUploads } from './release-uploads.ts'

type RetentionDeps = {
  readonly db: Db
  readonly plans: Plans
  /** Undefined: entries are kept. */
  readonly auditRetentionDays: number | undefined
  /** Without a store, objects wait for a sweep that has one. */
  readonly bucket: Pick<Bucket, 'delete' | 'list'> | undefined
}

/** The store comes last, so a hanging one delays nothing else. */
export const retentionParts = [
  'credits_expired',
  'uploads_released',
  'fetches_deleted',
  'tasks_deleted',
  'cleanups_announced',
  'notifications_deleted',
  'mails_deleted',
  'audit_entries_deleted',
  'key_addresses_deleted',
  'pool_records_deleted',
  'objects_deleted',
] as const

/** Deletes everything that expires, in bounded rounds; concurrent sweepers are safe. */
export const sweepRetention = (
  { db, plans, auditRetentionDays, bucket }: RetentionDeps,
  options: { now?: Date | undefined; signal?: AbortSignal } = {},
) =>
  sweepParts<(typeof retentionParts)[number]>(
    {
      credits_expired: (pass) => expireCredits(db, pass),
      uploads_released: (pass) => releaseUnusedUploads(db, pass),
      fetches_deleted: (pass) => deleteOldFetches(db, pass),
      tasks_deleted: (pass) => deleteOldTasks(db, plans, pass),
      cleanups_announced: (pass) => announceCleanups(db, plans, pass),
      notifications_deleted: (pass) => deleteOldNotifications(db, pass),
      mails_deleted: (pass) => deleteOldMails(db, pass),
      audit_entries_deleted: async (pass) =>
        auditRetentionDays === undefined ? 0 : deleteOldAuditEntries(db, auditRetentionDays, pass),
      key_addresses_deleted: (pass) => deleteOldAddresses(db, pass),
      pool_records_deleted: (pass) => deleteOldPoolRecords(db, pass),
      objects_deleted: async (pass) => (bucket === undefined ? 0 : deleteDueObjects(db, bucket, pass)),
    },
    options,
  )

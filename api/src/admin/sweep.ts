import { countsOrThrow, sweepParts } from '@matte/core/db/sweep'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { openBucket } from '@matte/core/storage/bucket'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { type Command, type CommandDeps, type Given, UsageError } from './command.ts'
import { instant } from './options.ts'

const sweep: Command = {
  name: 'sweep',
  usage: '[--now TIME [--yes]]',
  summary:
    'do what falls due by a time, the present one by default: tasks that nobody took, credits, unused uploads, ' +
    'old tasks, notifications, mails and audit entries, and, with S3_* set, objects; a time to come needs --yes in ' +
    'production',
  options: ['now'],
  takesYes: true,
  run: async (deps, given) => {
    const now = timeOf(given, deps)
    const { db, plans, store, maxQueueAgeMs, auditRetentionDays } = deps
    const bucket = store && openBucket({ ...store, internalEndpoint: store.endpoint, publicEndpoint: store.endpoint })
    try {
      const sweptTasks = await sweepParts({ ended: (pass) => sweepTasks(db, { maxQueueAgeMs, ...pass }) }, { now })
      const counts = countsOrThrow(await sweepRetention({ db, plans, bucket, auditRetentionDays }, { now }))
      return {
        now: now?.toISOString() ?? null,
        endedTasks: countsOrThrow(sweptTasks).ended,
        expiredCredits: counts.credits_expired,
        releasedUploads: counts.uploads_released,
        deletedTasks: counts.tasks_deleted,
        announcedCleanups: counts.cleanups_announced,
        deletedNotifications: counts.notifications_deleted,
        deletedMails: counts.mails_deleted,
        deletedAuditEntries: counts.audit_entries_deleted,
        deletedObjects: bucket === undefined ? null : counts.objects_deleted,
      }
    } finally {
      bucket?.close()
    }
  },
}

/** What a sweep ends and deletes nobody brings back, so a time that was mistyped must not reach production. */
function timeOf({ values, yes }: Given, { production }: CommandDeps): Date | undefined {
  if (values.now === undefined) return undefined
  const now = instant(values.now, 'now')
  if (production && !yes && now.getTime() > Date.now()) {
    throw new UsageError(
      '--now lies in the future: what falls due by then would end or be deleted now, which cannot be undone; ' +
        'add --yes to do that while MATTE_ENV is production',
    )
  }
  return now
}

export const sweepCommands: readonly Command[] = [sweep]

import { countsOrThrow, sweepParts } from '@matte/core/db/sweep'
import { mayDeleteAuditEntries } from '@matte/core/retention/delete-old-rows'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { openBucket } from '@matte/core/storage/bucket'
import { setFaultAttempts } from '@matte/core/task/run/fault-injection'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { deleteUnverified } from '@matte/people/identity/account/delete-unverified'
import { type Command, type CommandDeps, CommandError, type Given, UsageError } from './command.ts'
import { instant, required, requiredUuid, wholeNumber } from './options.ts'

const sweep: Command = {
  name: 'sweep',
  usage: '[--now TIME [--yes]]',
  summary:
    'process everything due by a time, now by default: unclaimed tasks, credits, unused uploads, old tasks, ' +
    'notifications, mails, audit entries, records of pools, accounts never verified, and objects if S3_* is set; a ' +
    'future time needs --yes in production',
  changes: true,
  run: async (deps, given) => {
    const now = timeOf(given, deps)
    const { db, change, plans, store, maxQueueAgeMs } = deps
    await change({ target: now?.toISOString() ?? null }, async () => undefined) // before the many transactions
    // The role of the API may not delete entries; the worker's sweep does.
    const auditRetentionDays = (await mayDeleteAuditEntries(db)) ? deps.auditRetentionDays : undefined
    const bucket = store && openBucket({ ...store, internalEndpoint: store.endpoint, publicEndpoint: store.endpoint })
    try {
      const sweptTasks = await sweepParts({ ended: (pass) => sweepTasks(db, { maxQueueAgeMs, ...pass }) }, { now })
      const accounts = await sweepParts({ deleted: (pass) => deleteUnverified(db, pass) }, { now })
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
        deletedAuditEntries: auditRetentionDays === undefined ? null : counts.audit_entries_deleted,
        deletedAccounts: countsOrThrow(accounts).deleted,
        deletedKeyAddresses: counts.key_addresses_deleted,
        deletedPoolRecords: counts.pool_records_deleted,
        deletedObjects: bucket === undefined ? null : counts.objects_deleted,
      }
    } finally {
      bucket?.close()
    }
  },
}

/** A sweep cannot be undone, so a mistyped time in the future needs confirmation in production. */
function timeOf({ values, yes }: Given, { production }: CommandDeps): Date | undefined {
  if (values.now === undefined) return undefined
  const now = instant(values.now, 'now')
  if (production && !yes && now.getTime() > Date.now()) {
    throw new UsageError(
      '--now is in the future: the sweep would end or delete everything due by then, which cannot be undone; ' +
        'add --yes to confirm (MATTE_ENV is production)',
    )
  }
  return now
}

export const sweepCommands: readonly Command[] = [sweep]

const inference: Command = {
  name: 'fault inference',
  usage: '--task ID --attempts N',
  summary: 'make the next N attempts of an unfinished task fail; refused in production',
  changes: true,
  run: async ({ change, production }, given) => {
    const taskId = requiredUuid(given, 'task')
    const attempts = wholeNumber(required(given, 'attempts'), 'attempts', { min: 0, max: 1_000 })
    if (production) {
      throw new CommandError('faults are refused while MATTE_ENV is production; set MATTE_ENV=development for a trial')
    }
    const row = await change({ target: taskId }, async (tx) => {
      const set = await setFaultAttempts(tx, taskId, attempts)
      if (set === undefined) throw new CommandError(`there is no task ${taskId} that is queued or processing`)
      return set
    })
    return { taskId, attempts, status: row.status }
  },
}

export const faultCommands: readonly Command[] = [inference]

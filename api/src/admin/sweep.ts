import { countsOrThrow, sweepParts } from '@matte/core/db/sweep'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import type { Command } from './command.ts'
import { instant } from './options.ts'

const sweep: Command = {
  name: 'sweep',
  usage: '[--now TIME]',
  summary:
    'do what falls due by a time, the present one by default: tasks that nobody took, credits, unused uploads, ' +
    'old tasks, and, with S3_* set, objects',
  options: ['now'],
  run: async (deps, given) => {
    const now = given.values.now === undefined ? undefined : instant(given.values.now, 'now')
    const { db, plans, openStore, maxQueueAgeMs } = deps
    const bucket = openStore?.()
    try {
      const sweptTasks = await sweepParts({ ended: (pass) => sweepTasks(db, { maxQueueAgeMs, ...pass }) }, { now })
      const counts = countsOrThrow(await sweepRetention({ db, plans, bucket }, { now }))
      return {
        now: now?.toISOString() ?? null,
        endedTasks: countsOrThrow(sweptTasks).ended,
        expiredCredits: counts.credits_expired,
        releasedUploads: counts.uploads_released,
        deletedTasks: counts.tasks_deleted,
        announcedCleanups: counts.cleanups_announced,
        deletedObjects: bucket === undefined ? null : counts.objects_deleted,
      }
    } finally {
      bucket?.close()
    }
  },
}

export const sweepCommands: readonly Command[] = [sweep]

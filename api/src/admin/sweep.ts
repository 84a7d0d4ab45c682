import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { type Command, type CommandDeps, type Given, UsageError } from './command.ts'
import { instant } from './options.ts'

/** Passes of one call: at 100 tasks each, a backlog of 100,000; the sweepers of the service do the rest. */
const passesMax = 1_000

const sweep: Command = {
  name: 'sweep',
  usage: '[--now TIME [--yes]]',
  summary:
    'do what falls due by a time, the present one by default: tasks that nobody took, credits, unused uploads, ' +
    'old tasks, and, with S3_* set, objects; a time to come needs --yes in production',
  options: ['now'],
  takesYes: true,
  run: async (deps, given) => {
    const now = timeOf(given, deps)
    const endedTasks = await endTasks(deps, now)
    const { db, plans, openStore } = deps
    const bucket = openStore?.()
    try {
      const counts = await sweepRetention({ db, plans, bucket }, { now })
      return {
        now: now?.toISOString() ?? null,
        endedTasks,
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

async function endTasks({ db, maxQueueAgeMs }: CommandDeps, now: Date | undefined): Promise<number> {
  let endedTasks = 0
  for (let pass = 0; pass < passesMax; pass++) {
    const ended = await sweepTasks(db, { maxQueueAgeMs, now })
    if (ended === 0) break
    endedTasks += ended
  }
  return endedTasks
}

export const sweepCommands: readonly Command[] = [sweep]

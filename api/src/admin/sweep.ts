import { sweepTasks } from '@matte/core/task/sweep-tasks'
import { type Command, instant } from './command.ts'

/** Passes of one call: at 100 tasks each, a backlog of 100,000; the sweepers of the service do the rest. */
const passesMax = 1_000

const sweep: Command = {
  name: 'sweep',
  usage: '[--now TIME]',
  summary: 'do what falls due by a time, the present one by default: end tasks that nobody took in time',
  options: ['now'],
  run: async ({ db, maxQueueAgeMs }, given) => {
    const now = given.values.now === undefined ? undefined : instant(given.values.now, 'now')
    let endedTasks = 0
    for (let pass = 0; pass < passesMax; pass++) {
      const ended = await sweepTasks(db, { maxQueueAgeMs, now })
      if (ended === 0) break
      endedTasks += ended
    }
    return { now: now?.toISOString() ?? null, endedTasks }
  },
}

export const sweepCommands: readonly Command[] = [sweep]

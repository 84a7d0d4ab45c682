import { setFaultAttempts } from '@matte/core/task/run/fault-injection'
import { type Command, CommandError } from './command.ts'
import { required, requiredUuid, wholeNumber } from './options.ts'

const inference: Command = {
  name: 'fault inference',
  usage: '--task ID --attempts N',
  summary: 'make the next N attempts of an unfinished task fail; not in production',
  options: ['task', 'attempts'],
  run: async ({ db, production }, given) => {
    const taskId = requiredUuid(given, 'task')
    const attempts = wholeNumber(required(given, 'attempts'), 'attempts', { min: 0, max: 1_000 })
    if (production) {
      throw new CommandError('faults are refused while MATTE_ENV is production; set MATTE_ENV=development for a trial')
    }
    const row = await setFaultAttempts(db, taskId, attempts)
    if (row === undefined) throw new CommandError(`there is no task ${taskId} that is queued or processing`)
    return { taskId, attempts, status: row.status }
  },
}

export const faultCommands: readonly Command[] = [inference]

import { createConsoleLink, endOperatorSessions, linkMinutes } from '@matte/core/operator-credential'
import { type Command, CommandError, UsageError } from './command.ts'

const link: Command = {
  name: 'console-link',
  usage: '',
  summary: `print a link that opens the console for an operator, once and within ${linkMinutes} minutes`,
  changes: true,
  run: async ({ change, publicUrl }, { words }) => {
    if (words.length > 0) throw new UsageError(`${words[0]} was not expected`)
    if (publicUrl === undefined) throw new CommandError('PUBLIC_URL is not set: run this in a pod of the API')
    const { secret, expiresAt } = await change({}, createConsoleLink)
    // Browsers send no fragment, so the code is in no log of a server or proxy.
    return { url: `${publicUrl.replace(/\/$/, '')}/operator#code=${secret}`, expiresAt: expiresAt.toISOString() }
  },
}

const signOut: Command = {
  name: 'console-sign-out',
  usage: '',
  summary: 'end all sessions of operators within 5 s, and unused links; the token of the settings still works',
  changes: true,
  run: async ({ change }, { words }) => {
    if (words.length > 0) throw new UsageError(`${words[0]} was not expected`)
    return { endedSessions: await change({}, endOperatorSessions) }
  },
}

export const consoleCommands: readonly Command[] = [link, signOut]

import { parseArgs } from 'node:util'
import { auditCommands } from './audit.ts'
import { type Command, type Given, UsageError } from './command.ts'
import { consoleCommands } from './console.ts'
import { creditsCommands } from './credits.ts'
import { databaseCommands } from './database.ts'
import { keyCommands } from './key.ts'
import { refundCommands, subscriptionCommands } from './payment.ts'
import { referralCommands } from './referral.ts'
import { secretsCommands, signingKeyCommands } from './secrets.ts'
import { settingCommands } from './setting.ts'
import { storeCommands } from './store.ts'
import { faultCommands, sweepCommands } from './sweep.ts'
import { userCommands } from './user.ts'
import { workspaceCommands } from './workspace.ts'

export const commands: readonly Command[] = [
  ...workspaceCommands,
  ...keyCommands,
  ...userCommands,
  ...creditsCommands,
  ...refundCommands,
  ...subscriptionCommands,
  ...referralCommands,
  ...settingCommands,
  ...consoleCommands,
  ...faultCommands,
  ...sweepCommands,
  ...secretsCommands,
  ...signingKeyCommands,
  ...storeCommands,
  ...auditCommands,
  ...databaseCommands,
]

export type AskedCommand = { readonly command: Command; readonly given: Given; readonly json: boolean }
type Asked = { readonly help: string } | AskedCommand

export function readArguments(args: readonly string[]): Asked {
  if (args.length === 0 || args.includes('--help') || args.includes('-h')) return { help: helpText() }
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
  if (command === undefined) throw new UsageError(`no such command\n\n${helpText()}`.trimEnd())
  const options = Array.from(command.usage.matchAll(/--([a-z-]+)/g), ([, option = '']) => option)
  const accepted = command.changes ? [...options, 'reason'] : options
  try {
    const { values, positionals } = parseArgs({
      args: args.slice(command.name.split(' ').length),
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        ...Object.fromEntries(accepted.map((name) => [name, { type: name === 'yes' ? 'boolean' : 'string' } as const])),
      },
    })
    const { json, yes, ...texts } = values as { json: boolean; yes?: boolean } & Record<string, string | undefined>
    if (options.length > 0 && positionals.length > 0) throw new UsageError(`${positionals[0]} was not expected`)
    return { command, given: { values: texts, yes: yes === true, words: positionals }, json }
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\nusage: ${usageOf(command)}`)
  }
}

export function usageOf({ name, usage, changes }: Command): string {
  const reason = changes && !usage.includes('--reason') ? '[--reason TEXT]' : ''
  return ['matte-admin', name, usage, reason, '[--json]'].filter((part) => part !== '').join(' ')
}

function helpText(): string {
  const lines = commands.map((command) => `  ${usageOf(command)}\n      ${command.summary}`)
  return `usage: matte-admin COMMAND\n\n${lines.join('\n')}\n\nDATABASE_URL names the database.\n`
}

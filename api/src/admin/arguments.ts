import { parseArgs } from 'node:util'
import { userCommands } from './account/user.ts'
import { type Command, type Given, UsageError } from './command.ts'
import { referralCommands } from './credit/referral.ts'
import { creditsCommands } from './credits.ts'
import { faultCommands } from './fault.ts'
import { keyCommands } from './key.ts'
import { refundCommands } from './payment/refund.ts'
import { subscriptionCommands } from './payment/subscription.ts'
import { settingCommands } from './setting.ts'
import { sweepCommands } from './sweep.ts'
import { databaseCommands } from './upkeep/database.ts'
import { secretsCommands } from './upkeep/secrets.ts'
import { signingKeyCommands } from './upkeep/signing-key.ts'
import { storeCommands } from './upkeep/store.ts'
import { workspaceCommands } from './workspace.ts'

const commands: readonly Command[] = [
  ...workspaceCommands,
  ...keyCommands,
  ...userCommands,
  ...creditsCommands,
  ...refundCommands,
  ...subscriptionCommands,
  ...referralCommands,
  ...settingCommands,
  ...faultCommands,
  ...sweepCommands,
  ...secretsCommands,
  ...signingKeyCommands,
  ...storeCommands,
  ...databaseCommands,
]

export type AskedCommand = { readonly command: Command; readonly given: Given; readonly json: boolean }
type Asked = { readonly help: string } | AskedCommand

/** @throws UsageError with the usage of what was meant, as far as that is known */
export function readArguments(args: readonly string[]): Asked {
  if (args.length === 0 || args.includes('--help') || args.includes('-h')) return { help: helpText() }
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
  if (command === undefined) throw new UsageError(`no such command\n\n${helpText()}`.trimEnd())
  try {
    const { values, positionals } = parseArgs({
      args: args.slice(command.name.split(' ').length),
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        ...(command.takesYes && { yes: { type: 'boolean' as const } }),
        ...Object.fromEntries(command.options.map((option) => [option, { type: 'string' as const }])),
      },
    })
    const { json, yes, ...options } = values as { json: boolean; yes?: boolean } & Record<string, string | undefined>
    if (command.options.length > 0 && positionals.length > 0) throw new UsageError(`${positionals[0]} was not expected`)
    return { command, given: { values: options, yes: yes === true, words: positionals }, json }
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\nusage: ${usageOf(command)}`)
  }
}

export const usageOf = ({ name, usage }: Command): string => `matte-admin ${name} ${usage} [--json]`

function helpText(): string {
  const lines = commands.map((command) => `  ${usageOf(command)}\n      ${command.summary}`)
  return `usage: matte-admin COMMAND\n\n${lines.join('\n')}\n\nDATABASE_URL names the database.\n`
}

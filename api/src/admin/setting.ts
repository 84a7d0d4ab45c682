import { type SettingName, settingNames, writeSetting } from '@matte/core/setting/setting-queries'
import { parseAllowedTarget } from '@matte/core/webhook/target/allowed-target'
import { type Command, UsageError } from './command.ts'

const set: Command = {
  name: 'setting set',
  usage: 'maintenance|batchEnabled|dispatchPaused on|off, or webhooks.allowedTargets "host:port host:* …"',
  summary: 'change a switch or a list, in force within 5 s; an empty list clears it',
  options: [],
  run: async ({ db }, { words }) => {
    const [name, text, ...rest] = words
    if (name === undefined || text === undefined || rest.length > 0) throw new UsageError('give a name and one value')
    if (!isSettingName(name)) throw new UsageError(`${name} is no setting; there are ${settingNames.join(', ')}`)
    const value = name === 'webhooks.allowedTargets' ? readTargets(text) : readSwitch(name, text)
    await writeSetting(db, name, value)
    return { name, value }
  },
}

const isSettingName = (name: string): name is SettingName => (settingNames as readonly string[]).includes(name)

function readSwitch(name: string, text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError(`${name} must be on or off`)
  return text === 'on'
}

function readTargets(text: string): string[] {
  const targets = text.split(/[\s,]+/).filter((entry) => entry !== '')
  return [...new Set(targets.map(readTarget))]
}

function readTarget(entry: string): string {
  const target = parseAllowedTarget(entry)
  if (target === undefined) {
    throw new UsageError(`${entry} is no target: host:port or host:*, an IPv6 address in brackets`)
  }
  return target
}

export const settingCommands: readonly Command[] = [set]

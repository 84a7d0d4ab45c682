import { defaultSettings, type SettingName, type Settings, settingNames, settingOf } from '@matte/core/setting/setting'
import { readSettings, writeSetting } from '@matte/core/setting/setting-queries'
import { parseAllowedTarget } from '@matte/core/webhook/target/target-url'
import { type Command, UsageError } from './command.ts'

const get: Command = {
  name: 'setting get',
  usage: 'NAME',
  summary: 'show the value of a setting, its default, and whether they differ',
  run: async ({ db }, { words }) => {
    const [name, ...rest] = words
    if (name === undefined || rest.length > 0) throw new UsageError('give one name')
    return describe(await readSettings(db), readName(name))
  },
}

const list: Command = {
  name: 'setting list',
  usage: '',
  summary: 'show all settings with their defaults; `setting set NAME` accepts the values as shown',
  run: async ({ db }, { words }) => {
    if (words.length > 0) throw new UsageError(`${words[0]} was not expected`)
    const settings = await readSettings(db)
    return { settings: settingNames.map((name) => describe(settings, name)) }
  },
}

function describe(settings: Settings, name: SettingName) {
  const value = settingOf(settings, name)
  const byDefault = settingOf(defaultSettings, name)
  return { name, value, default: byDefault, changed: String(value) !== String(byDefault) }
}

const set: Command = {
  name: 'setting set',
  usage: 'maintenance|batchEnabled|dispatchPaused on|off, or webhooks.allowedTargets "host:port host:* …"',
  summary: 'change a switch or a list, effective within 5 s; an empty list clears it',
  changes: true,
  run: async ({ change }, { words }) => {
    const [name, text, ...rest] = words
    if (name === undefined || text === undefined || rest.length > 0) throw new UsageError('give a name and one value')
    const setting = readName(name)
    const value = setting === 'webhooks.allowedTargets' ? readTargets(text) : readSwitch(setting, text)
    await change({ target: setting }, (tx) => writeSetting(tx, setting, value))
    return { name: setting, value }
  },
}

function readName(text: string): SettingName {
  const name = settingNames.find((one) => one === text)
  if (name === undefined) throw new UsageError(`${text} is not a setting; use one of ${settingNames.join(', ')}`)
  return name
}

function readSwitch(name: string, text: string): boolean {
  if (text === 'on' || text === 'true') return true
  if (text === 'off' || text === 'false') return false
  throw new UsageError(`${name} must be on or off`)
}

function readTargets(text: string): string[] {
  const targets = text.split(/[\s,]+/).filter((entry) => entry !== '')
  return [...new Set(targets.map(readTarget))]
}

function readTarget(entry: string): string {
  const target = parseAllowedTarget(entry)
  if (target === undefined) {
    throw new UsageError(`${entry} is not a target: give host:port or host:*, with an IPv6 address in brackets`)
  }
  return target
}

export const settingCommands: readonly Command[] = [get, list, set]

// matte-admin as a function. Migrates the schema first, so it works before any process has run.

import { EventEmitter, once } from 'node:events'
import { connectionOf, databaseSettings } from '@matte/core/database-settings'
import { openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { checkTls, tlsSettings } from '@matte/core/required-tls'
import { auditSettings } from '@matte/core/retention/settings'
import { authoritySettings, trustAuthorities } from '@matte/core/runtime/authorities'
import {
  ConfigError,
  choice,
  type Infer,
  int,
  json,
  optionalSecret,
  optionalText,
  parseEnv,
} from '@matte/core/runtime/env'
import { createLogger } from '@matte/core/runtime/logger'
import { findMasterKeys, optionalMasterKeySettings } from '@matte/core/runtime/master-keys'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sessionSettings } from '@matte/people/identity/session/settings'
import { accountsSetting, openPayments, paymentSettings } from '@matte/people/payment/settings'
import { type AskedCommand, readArguments, usageOf } from './arguments.ts'
import { commandChanges } from './changes.ts'
import { type CommandDeps, UsageError } from './command.ts'
import { reasonOf } from './options.ts'
import { storeOf, storeSchema, toStoreOf, toStoreSchema } from './store.ts'

/** Commands run with the database role of the API, or of the owner. */
const atStart = { roles: ['api'], awaitsOwner: false } as const

const describeRole = (role: string) => ({ description: `for database create-roles: the database URL of the ${role}` })
const roleSettings = {
  roleUrlApi: optionalSecret('DATABASE_URL_API', describeRole('API')),
  roleUrlWorker: optionalSecret('DATABASE_URL_WORKER', describeRole('worker')),
  roleUrlOperator: optionalSecret('DATABASE_URL_OPERATOR', describeRole('operator')),
  roleUrlDispatcher: optionalSecret('DATABASE_URL_DISPATCHER', describeRole('dispatcher')),
}

const configSchema = {
  ...databaseSettings,
  ...authoritySettings,
  ...tlsSettings,
  plans: json('PLANS', { description: 'changes to the plans, as the API has them', default: defaultPlans }, parsePlans),
  environment: choice('MATTE_ENV', ['development', 'production'], {
    description: 'production disables features that are for trials only',
    default: 'production',
  }),
  publicUrl: optionalText('PUBLIC_URL', { description: 'as the API has it, for console-link' }),
  maxQueueAgeSeconds: int('MAX_QUEUE_AGE_SECONDS', {
    description: 'age at which a queued task fails',
    default: 24 * 60 * 60,
    min: 1,
  }),
  databaseWaitMs: int('DATABASE_WAIT_MS', {
    description: 'how long to wait for the database; short, because an operator or a script waits',
    default: 5_000,
  }),
  ...roleSettings,
  ...optionalMasterKeySettings,
  ...auditSettings,
  ...accountsSetting,
  ...sessionSettings,
  ...paymentSettings,
  ...storeSchema,
  ...toStoreSchema,
}

type Output = { write(text: string): unknown }
type Streams = { readonly stdout: Output; readonly stderr: Output }
type Env = Readonly<Record<string, string | undefined>>

/** Runs one command. Returns the exit code: 0, 1 for a refused or failed command, 2 for wrong arguments or settings. */
export async function runAdmin(args: readonly string[], env: Env, { stdout, stderr }: Streams): Promise<number> {
  try {
    const asked = readArguments(args)
    if ('help' in asked) stdout.write(asked.help)
    else await answer(asked, env, { stdout, stderr })
    return 0
  } catch (error) {
    stderr.write(`matte-admin: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

async function answer(asked: AskedCommand, env: Env, { stdout, stderr }: Streams): Promise<void> {
  const config = parseEnv(configSchema, env)
  checkTls(config)
  trustAuthorities(config.trustedCaFile)
  const logger = createLogger('admin', 'warn', { write: (line) => void stderr.write(line) })
  const database = openDatabase({ ...connectionOf(config), poolMax: 2, logger, applicationName: 'matte-admin' })
  const { db } = database
  const { databaseWaitMs: reachableWithinMs } = config
  try {
    const { withoutDatabase = false } = asked.command
    if (!withoutDatabase) await schemaAtStart(database, { ...atStart, logger, reachableWithinMs }).start()
    const { plans, environment, accountsEnabled, auditRetentionDays, sessionIdleHours, publicUrl } = config
    const production = environment === 'production'
    const servers = {
      store: storeOf(config),
      toStore: toStoreOf(config),
      masterKeys: findMasterKeys(config)?.masterKeys,
    }
    const roleUrls = readRoleUrls(config)
    const payments = async () => {
      if (servers.masterKeys === undefined)
        throw new ConfigError('MASTER_KEYS or MASTER_KEYS_FILE is missing: set it as for the API')
      const { masterKeys } = servers
      // `subscription end` and `refund` work without accounts too. No command creates a checkout, which needs the URL.
      return openPayments(config, { db, plans, environment, accountsEnabled: true, masterKeys, publicUrl: '' })
    }
    const ages = { auditRetentionDays, sessionIdleHours, maxQueueAgeMs: config.maxQueueAgeSeconds * 1_000 }
    const deps = {
      db,
      ...commandChanges(db, { command: asked.command.name, reason: reasonOf(asked.given) }),
      plans,
      production,
      accountsEnabled,
      publicUrl,
      ...ages,
      ...servers,
      roleUrls,
      payments,
    }
    await print(asked, deps, stdout)
  } finally {
    await database.stop()
  }
}

function readRoleUrls(config: Infer<typeof roleSettings>): CommandDeps['roleUrls'] {
  const { roleUrlApi: api, roleUrlWorker: worker, roleUrlOperator: operator, roleUrlDispatcher: dispatcher } = config
  return {
    ...(api && { api }),
    ...(worker && { worker }),
    ...(operator && { operator }),
    ...(dispatcher && { dispatcher }),
  }
}

async function print({ command, given, json }: AskedCommand, deps: CommandDeps, stdout: Output): Promise<void> {
  try {
    if ('run' in command) stdout.write(formatResult(await command.run(deps, given), { json, plain: command.plain }))
    else for await (const line of command.stream(deps, given)) await writeLine(stdout, `${JSON.stringify(line)}\n`)
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${error.message}\nusage: ${usageOf(command)}`) : error
  }
}

/** Waits for a slow reader, so the lines take no memory meanwhile. */
async function writeLine(stdout: Output, line: string): Promise<void> {
  if (stdout.write(line) === false && stdout instanceof EventEmitter) await once(stdout, 'drain')
}

type Form = { readonly json: boolean; readonly plain?: string | undefined }

/**
 * One JSON object with `json`, else one line per field and per record of a list. `plain` names a field to print alone.
 */
export function formatResult(result: Readonly<Record<string, unknown>>, { json, plain }: Form): string {
  if (json) return `${JSON.stringify(result)}\n`
  return plain === undefined ? toLines(result) : String(result[plain])
}

function toLines(result: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(result).map((name) => name.length))
  const lines = Object.entries(result).map(([name, value]) => {
    const texts = Array.isArray(value) && value.some(isRecord) ? value.map(toText) : [toText(value)]
    return texts.map((text) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n')
  })
  return `${lines.join('\n')}\n`
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function toText(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ')
  if (!isRecord(value)) return String(value ?? '')
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return members.map(([name, member]) => `${name}=${Array.isArray(member) ? member.join(',') : member}`).join(' ')
}

// The program matte-admin as a function. It talks to the database (`sweep` to the store too) and migrates the schema
// first, so it works before any process of the service has run.
import { auditSettings } from '@matte/core/audit/settings'
import { connectionOf, databaseSettings } from '@matte/core/database-settings'
import { openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { openPayments, paymentSettings } from '@matte/core/payment/settings'
import { ConfigError, choice, type Infer, int, json, optionalSecret, parseEnv } from '@matte/core/runtime/env'
import { createLogger } from '@matte/core/runtime/logger'
import { type MasterKeys, parseMasterKeys } from '@matte/core/runtime/seal'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'
import { type AskedCommand, readArguments, usageOf } from './arguments.ts'
import { type CommandDeps, UsageError } from './command.ts'
import { formatResult } from './output.ts'
import { storeOf, storeSchema, toStoreOf, toStoreSchema } from './store.ts'

/** Commands run with the rights of the API, in whose pod they are typed (A139), or with those of the owner. */
const atStart = { roles: ['api'], awaitsOwner: false } as const

const describeRole = (role: string) => ({ description: `for database create-roles: the URL that the ${role} gets` })
const roleSettings = {
  roleUrlApi: optionalSecret('DATABASE_URL_API', describeRole('API')),
  roleUrlWorker: optionalSecret('DATABASE_URL_WORKER', describeRole('worker')),
  roleUrlOperator: optionalSecret('DATABASE_URL_OPERATOR', describeRole('operator')),
  roleUrlDispatcher: optionalSecret('DATABASE_URL_DISPATCHER', describeRole('dispatcher')),
}

/** `MAX_QUEUE_AGE_SECONDS`, `AUDIT_RETENTION_DAYS` and `PLANS` are those of the service's own processes. */
const configSchema = {
  ...databaseSettings,
  plans: json('PLANS', { description: 'changes to the plans, as the API has them', default: defaultPlans }, parsePlans),
  environment: choice('MATTE_ENV', ['development', 'production'], {
    description: 'production refuses what is for trials only',
    default: 'production',
  }),
  maxQueueAgeSeconds: int('MAX_QUEUE_AGE_SECONDS', {
    description: 'age at which a waiting task fails',
    default: 24 * 60 * 60,
    min: 1,
  }),
  databaseWaitMs: int('DATABASE_WAIT_MS', {
    description: 'how long the database may take to be reachable: an operator waits, and a script wants to know soon',
    default: 5_000,
  }),
  ...roleSettings,
  masterKeys: optionalSecret('MASTER_KEYS', { description: 'as the API has them, for secrets reseal' }),
  ...auditSettings,
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
    stdout.write('help' in asked ? asked.help : await answer(asked, env, stderr))
    return 0
  } catch (error) {
    stderr.write(`matte-admin: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

async function answer(asked: AskedCommand, env: Env, stderr: Output): Promise<string> {
  return formatResult(await execute(asked, env, stderr), { json: asked.json, plain: asked.command.plain })
}

async function execute(asked: AskedCommand, env: Env, stderr: Output): Promise<Readonly<Record<string, unknown>>> {
  const config = parseEnv(configSchema, env)
  // Standard output carries the result alone.
  const logger = createLogger('admin', 'warn', { write: (line) => void stderr.write(line) })
  const database = openDatabase({ ...connectionOf(config), poolMax: 2, logger, applicationName: 'matte-admin' })
  const { db } = database
  const { databaseWaitMs: reachableWithinMs } = config
  try {
    const { withoutDatabase = false } = asked.command
    if (!withoutDatabase) await schemaAtStart(database, { ...atStart, logger, reachableWithinMs }).start()
    const { plans, environment, auditRetentionDays, maxQueueAgeSeconds } = config
    const production = environment === 'production'
    const servers = { store: storeOf(config), toStore: toStoreOf(config), masterKeys: readMasterKeys(config) }
    const roleUrls = readRoleUrls(config)
    const payments = async () => {
      if (servers.masterKeys === undefined) throw new ConfigError('MASTER_KEYS is missing: give it as the API has it')
      const { masterKeys } = servers
      // No command creates a checkout, so none needs the public URL.
      return openPayments(config, { db, plans, environment, masterKeys, publicUrl: '' })
    }
    const ages = { auditRetentionDays, maxQueueAgeMs: maxQueueAgeSeconds * 1_000 }
    return await run(asked, { db, plans, production, ...ages, ...servers, roleUrls, payments })
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

function readMasterKeys({ masterKeys }: { masterKeys: string | undefined }): MasterKeys | undefined {
  try {
    return masterKeys === undefined ? undefined : parseMasterKeys(masterKeys)
  } catch (error) {
    throw new ConfigError(`MASTER_KEYS ${error instanceof Error ? error.message : ''}`)
  }
}

/** An error in what was typed comes with the usage of its command. */
async function run({ command, given }: AskedCommand, deps: CommandDeps): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await command.run(deps, given)
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${error.message}\nusage: ${usageOf(command)}`) : error
  }
}

#!/usr/bin/env node
// matte-admin: what an operator does by command. It talks to the database (sweep to the store too) and brings the
// schema up first, so that it works before any process of the service has run.
import { auditSettings } from '@matte/core/audit/settings'
import { openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { openPayments, paymentSettings } from '@matte/core/payment/settings'
import { ConfigError, choice, int, json, optionalSecret, parseEnv, secret } from '@matte/core/runtime/env'
import { createLogger } from '@matte/core/runtime/logger'
import { type MasterKeys, parseMasterKeys } from '@matte/core/runtime/seal'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'
import { pino } from 'pino'
import { type AskedCommand, readArguments, usageOf } from './arguments.ts'
import { type CommandDeps, UsageError } from './command.ts'
import { printResult } from './output.ts'
import { storeOf, storeSchema, toStoreOf, toStoreSchema } from './store.ts'

/** `MAX_QUEUE_AGE_SECONDS`, `AUDIT_RETENTION_DAYS` and `PLANS` are those of the service's own processes. */
const configSchema = {
  databaseUrl: secret('DATABASE_URL', { description: 'postgres://user:password@host:5432/database' }),
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
  masterKeys: optionalSecret('MASTER_KEYS', { description: 'as the API has them, for secrets reseal' }),
  ...auditSettings,
  ...paymentSettings,
  ...storeSchema,
  ...toStoreSchema,
}

async function main(): Promise<void> {
  const asked = readArguments(process.argv.slice(2))
  if ('help' in asked) {
    process.stdout.write(asked.help)
    return
  }
  const config = parseEnv(configSchema, process.env)
  // Standard output carries the result alone.
  const logger = createLogger('admin', 'warn', pino.destination(2))
  const database = openDatabase({ url: config.databaseUrl, poolMax: 2, logger, applicationName: 'matte-admin' })
  const { db } = database
  try {
    const { withoutDatabase = false } = asked.command
    if (!withoutDatabase) await schemaAtStart(database, { logger, reachableWithinMs: config.databaseWaitMs }).start()
    const { plans, environment, auditRetentionDays, maxQueueAgeSeconds } = config
    const production = environment === 'production'
    const servers = { store: storeOf(config), toStore: toStoreOf(config), masterKeys: readMasterKeys(config) }
    const payments = async () => {
      if (servers.masterKeys === undefined) throw new ConfigError('MASTER_KEYS is missing: give it as the API has it')
      const { masterKeys } = servers
      // Nobody orders here, so no checkout needs the public URL.
      return openPayments(config, { db, plans, environment, masterKeys, publicUrl: '' })
    }
    const ages = { auditRetentionDays, maxQueueAgeMs: maxQueueAgeSeconds * 1_000 }
    const deps = { db, plans, production, ...ages, ...servers, payments }
    printResult(await run(asked, deps), asked.json)
  } finally {
    await database.stop()
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

try {
  await main()
} catch (error) {
  process.stderr.write(`matte-admin: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1
}

// Setup of the accept and read rows: real, durable servers on free ports, an API process with an unlimited plan, and a
// hundred workspaces with uploaded objects.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { type Db, openDatabase } from '@matte/core/db/database'
import { migrateToLatest } from '@matte/core/db/migrate'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { scopes } from '@matte/core/workspace/scope'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { sayToTerminal } from '@matte/local/say'
import { installNats, startNats } from '@matte/local/servers/nats'
import { installObjectStore, startObjectStore } from '@matte/local/servers/object-store'
import { installPostgres, startPostgres } from '@matte/local/servers/postgres'
import { sql } from 'kysely'
import { pino } from 'pino'
import { freePorts } from '../../support/free-ports.ts'
import { pickObjectStorePorts } from '../../support/object-store-ports.ts'
import { startTestProcess, type TestProcess } from '../../support/processes.ts'

/** Charged, so every statement of a paid plan runs; unlimited, so the load meets no limit. */
const benchPlan = {
  concurrentTasks: 1_000_000_000,
  monthlyQuota: 1_000_000_000,
  requestsPerMinute: 1_000_000_000,
}
export const plans = parsePlans({ bench: benchPlan })
const plan = plans.bench

export type Caller = { readonly workspaceId: string; readonly apiKey: string; readonly objectKey: string }

export type World = {
  readonly dir: string
  readonly databaseUrl: string
  readonly db: Db
  readonly bucket: Bucket
  /** Environment of the API process. */
  readonly env: Readonly<Record<string, string>>
  readonly api: TestProcess
  readonly port: number
  readonly callers: readonly Caller[]
  readonly natsMonitorPort: number
  remove(): Promise<void>
}

export const poolMax = 10
const workspaces = 100

/** `parent`: folder, and so disk, of the servers' files. */
export async function createWorld(parent: string, more: Record<string, string> = {}): Promise<World> {
  const dir = mkdtempSync(join(parent, 'matte-bench-'))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user when this process is root
  const stops: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
  const remove = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop()
  }
  try {
    const { env, natsMonitorPort } = await startServers(dir, (server) => stops.push(() => server.stop()))
    const bucket = openBucket({
      internalEndpoint: env.S3_ENDPOINT,
      publicEndpoint: env.S3_ENDPOINT,
      bucket: 'matte',
      region: 'us-east-1',
      accessKeyId: env.S3_ACCESS_KEY_ID,
      secretAccessKey: env.S3_SECRET_ACCESS_KEY,
    })
    stops.push(() => bucket.close())
    await bucket.ensure()
    const logger = pino({ level: 'silent' })
    const url = env.DATABASE_URL
    const { db, stop } = openDatabase({ url, poolMax, logger, applicationName: 'matte-bench' })
    stops.push(stop)
    await migrateToLatest(db)
    await sql`create extension if not exists pg_stat_statements`.execute(db)
    await writeSetting(db, 'dispatchPaused', true)
    const callers: Caller[] = []
    for (let i = 0; i < workspaces; i++) callers.push(await createCaller(db, bucket))
    const api = await startTestProcess('api', dir, { ...env, ...more })
    stops.push(() => api.stop())
    const port = Number(new URL(api.url).port)
    return { dir, databaseUrl: url, db, bucket, env, api, port, callers, natsMonitorPort, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Durable servers, so commits cost a sync; returns the environment of the processes. */
export async function startServers(dir: string, started: (server: RunningServer) => void) {
  const [postgresPort = 0, client = 0, monitor = 0] = await freePorts(3)
  const common = { lifetime: 'attached' } as const
  const password = 'bench'
  const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret-key' }
  for (const name of ['postgres', 'nats', 'store']) mkdirSync(join(dir, name), { recursive: true, mode: 0o755 })
  const postgres = await startPostgres({
    ...common,
    logFile: join(dir, 'postgres.log'),
    installation: await installPostgres(),
    dataDir: join(dir, 'postgres/data'),
    port: postgresPort,
    password,
    settings: { shared_preload_libraries: 'pg_stat_statements', shared_buffers: '256MB', max_wal_size: '4GB' },
  })
  started(postgres)
  const nats = await startNats({
    ...common,
    logFile: join(dir, 'nats.log'),
    installation: await installNats(sayToTerminal),
    dataDir: join(dir, 'nats'),
    ports: { client, monitor },
  })
  started(nats)
  const store = await startObjectStore({
    ...common,
    logFile: join(dir, 'store.log'),
    installation: await installObjectStore(sayToTerminal),
    dataDir: join(dir, 'store'),
    ports: await pickObjectStorePorts(),
    credentials,
  })
  started(store)
  const env = {
    DATABASE_URL: postgres.url,
    DATABASE_POOL_MAX: String(poolMax),
    NATS_URL: nats.url,
    S3_ENDPOINT: store.url,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    MASTER_KEYS: `bench:${Buffer.alloc(32, 1).toString('base64')}`,
    PLANS: JSON.stringify({ bench: benchPlan }),
  }
  return { env, natsMonitorPort: monitor }
}

/** A PNG of one pixel: the store read is the same for both sides. */
const onePixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
)

async function createCaller(db: Db, bucket: Bucket): Promise<Caller> {
  if (plan === undefined) throw new Error('there is no plan for the benchmark')
  const { id: workspaceId } = await insertWorkspace(db, { name: 'bench', plan: 'bench' })
  await grantCredits(db, { workspaceId, kind: 'bench', amount: 1_000_000_000 })
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'bench', scopes, expiresAt: null })
  const objectKey = `private-uploads/2026/01/${workspaceId}-photo.png`
  await insertGrant(db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
  await bucket.put(objectKey, onePixelPng, { contentType: 'image/png' })
  return { workspaceId, apiKey: key.key, objectKey }
}

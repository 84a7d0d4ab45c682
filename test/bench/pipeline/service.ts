// The whole service for the pipeline rows: durable servers, our processes, and a Triton that answers at once.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { type Db, openDatabase } from '@matte/core/db/database'
import { migrateToLatest } from '@matte/core/db/migrate'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { openBucket } from '@matte/core/storage/bucket'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { sql } from 'kysely'
import { pino } from 'pino'
import { freePorts } from '../../support/free-ports.ts'
import { startTestProcess, type TestProcess } from '../../support/processes.ts'
import { startServers } from '../accept/world.ts'

/** Process ids of the parts of the service. */
export type Parts = Readonly<Record<(typeof partNames)[number], number>>
export const partNames = ['controller', 'postgres', 'store', 'nats', 'api', 'dispatcher', 'triton'] as const

export type Service = {
  readonly origin: string
  readonly apiKey: string
  readonly db: Db
  readonly parts: Parts
  /** Ends of the logs, for an error. */
  showLogs(): string
  remove(): Promise<void>
}

/** Tasks that the fake processes at once. With SLOTS_AHEAD's default of 2 a worker of two cores has four in flight. */
const instances = 2

/** `parent`: folder, and so disk, of the servers' files. `connections`: of each process to PostgreSQL, at most. */
export async function startService(parent: string, connections: number): Promise<Service> {
  const dir = mkdtempSync(join(parent, 'matte-bench-'))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user when this process is root
  const stops: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
  const remove = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop()
  }
  try {
    const servers = new Map<string, number>()
    const { env } = await startServers(dir, (server) => {
      servers.set(server.name, server.pid)
      stops.push(() => server.stop())
    })
    const { db, stop } = openDatabase({
      url: env.DATABASE_URL,
      poolMax: 2,
      logger: pino({ level: 'silent' }),
      applicationName: 'matte-bench',
    })
    stops.push(stop)
    const apiKey = await prepare(db, env)
    const triton = await startTriton(dir)
    stops.push(() => triton.stop())
    const address = { name: 'service-v2', tritonModel: 'u2netp', addresses: [triton.url], default: true }
    const common = { ...env, DATABASE_POOL_MAX: String(connections), MODELS_STATIC: JSON.stringify([address]) }
    const processes: TestProcess[] = []
    const start = async (name: 'api' | 'worker' | 'dispatcher') => {
      const process = await startTestProcess(name, dir, common)
      processes.push(process)
      stops.push(() => process.stop())
      return process
    }
    const api = await start('api')
    const worker = await start('worker')
    const dispatcher = await start('dispatcher')
    const pidOf = (name: string): number => servers.get(name) ?? missing(name)
    const parts = {
      controller: worker.pid,
      postgres: pidOf('postgres'),
      store: pidOf('object-store'),
      nats: pidOf('nats'),
      api: api.pid,
      dispatcher: dispatcher.pid,
      triton: triton.pid,
    }
    const showLogs = (): string => [postgresErrors(dir), ...processes.map(showErrors)].join('\n')
    return { origin: api.url, apiKey, db, parts, showLogs, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const showErrors = ({ name, log }: TestProcess): string =>
  log()
    .filter(({ level }) => level !== 'info')
    .map((line) => `${name}: ${JSON.stringify(line)}`)
    .join('\n')

const postgresErrors = (dir: string): string => readFileSync(join(dir, 'postgres.log'), 'utf8').slice(-logEndMax)
const logEndMax = 20_000

function missing(name: string): never {
  throw new Error(`no server is named ${name}`)
}

type StoreEnv = Readonly<Record<'S3_ENDPOINT' | 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY', string>>

/** Schema, bucket, and a key of a workspace with credits. */
async function prepare(db: Db, env: StoreEnv): Promise<string> {
  const bucket = openBucket({
    internalEndpoint: env.S3_ENDPOINT,
    publicEndpoint: env.S3_ENDPOINT,
    bucket: 'matte',
    region: 'us-east-1',
    accessKeyId: env.S3_ACCESS_KEY_ID,
    secretAccessKey: env.S3_SECRET_ACCESS_KEY,
  })
  await bucket.ensure()
  bucket.close()
  await migrateToLatest(db)
  await sql`create extension if not exists pg_stat_statements`.execute(db)
  await writeSetting(db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
  const { id: workspaceId } = await insertWorkspace(db, { name: 'bench', plan: 'bench' })
  await grantCredits(db, { workspaceId, kind: 'bench', amount: 1_000_000_000 })
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'bench', scopes, expiresAt: null })
  return key.key
}

async function startTriton(dir: string): Promise<RunningServer> {
  const [http = 0, grpc = 0, metrics = 0] = await freePorts(3)
  mkdirSync(join(dir, 'triton'), { recursive: true })
  const ports = ['--http-port', `${http}`, '--grpc-port', `${grpc}`, '--metrics-port', `${metrics}`]
  return startServer({
    name: 'triton',
    command: nodePath,
    args: [
      join(rootDir, 'test/e2e/fake-triton/main.ts'),
      '--load-model',
      'u2netp',
      '--http-address',
      '127.0.0.1',
      ...ports,
    ],
    env: { PATH: process.env.PATH, FAKE_SERVICE_MS: '0', FAKE_INSTANCES: String(instances) },
    cwd: join(dir, 'triton'),
    logFile: join(dir, 'triton.log'),
    lifetime: 'attached',
    url: `127.0.0.1:${grpc}`,
    ports: [http, grpc, metrics],
    ready: () => answers(`http://127.0.0.1:${http}/v2/health/ready`),
  })
}

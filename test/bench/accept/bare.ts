import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tables } from '@matte/core/db/tables/index'
import { countRequests } from '@matte/core/rate-windows'
import type { BucketOptions } from '@matte/core/storage/bucket'
import { createTask } from '@matte/core/task/create-task'
import { runCommand } from '@matte/local/install/run-command'
import { nodePath } from '@matte/local/servers/process'
import { hugePageEnv, hugePageFlags } from '@matte/local/servers/runtime-env'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { freePorts } from '../../support/free-ports.ts'
import { type Caller, plans, poolMax, type World } from './world.ts'

export type Statement = { readonly text: string; readonly values: readonly unknown[] }

/** The statements of one creation, as the service sent them. */
export type Recorded = {
  readonly objectKey: string
  readonly rate: Statement
  readonly findUpload: Statement
  readonly insert: Statement
}

export type BareCreate = {
  readonly databaseUrl: string
  readonly poolMax: number
  readonly store: BucketOptions
  readonly recorded: readonly Recorded[]
  readonly workers: number
  readonly seconds: number
  readonly warmupSeconds: number
}

type Timing = { readonly workers: number; readonly seconds: number; readonly warmupSeconds: number }

/** Environment and flags of the bare loops; the same as the processes'. */
const bareEnv = () => ({ ...process.env, ...hugePageEnv() })

/** Creations per second of the bare loop, in a separate process. */
export async function measureBareCreate(world: World, recorded: readonly Recorded[], timing: Timing): Promise<number> {
  const { env, dir, databaseUrl } = world
  const store = {
    internalEndpoint: env.S3_ENDPOINT ?? '',
    publicEndpoint: env.S3_ENDPOINT ?? '',
    bucket: 'matte',
    region: 'us-east-1',
    accessKeyId: env.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '',
  }
  const file = join(dir, 'bare.json')
  const bare: BareCreate = { databaseUrl, poolMax, store, recorded, ...timing }
  await writeFile(file, JSON.stringify(bare))
  const args = [...hugePageFlags, join(import.meta.dirname, 'bare-create.ts'), file]
  return Number(await runCommand(nodePath, args, { env: bareEnv() }))
}

/** Creates a task per caller and records its statements. */
export async function recordStatements(world: World, callers: readonly Caller[]): Promise<Recorded[]> {
  const sent: Statement[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: world.databaseUrl, max: 1 }) }),
    log: ({ query }) => void sent.push({ text: query.sql, values: query.parameters }),
  })
  const recorded: Recorded[] = []
  for (const { workspaceId, objectKey } of callers) {
    sent.length = 0
    const plan = plans.bench
    if (plan === undefined) throw new Error('there is no plan for the benchmark')
    await countRequests(db, [{ subject: `workspace:${workspaceId}`, count: 1, limit: plan.requestsPerMinute }])
    await createTask(db, world.bucket, {
      workspaceId,
      plan,
      imageUrl: objectKey,
      modelVersion: 'service-v2',
      callbackUrl: null,
      traceparent: null,
    })
    const [rate, findUpload, insert, ...more] = sent
    if (!rate || !findUpload || !insert || more.length > 0) {
      throw new Error(`a creation sends statements unknown to the bare loop: ${JSON.stringify(sent)}`)
    }
    recorded.push({ objectKey, rate, findUpload, insert })
  }
  await db.destroy()
  return recorded
}

/** Starts the bare route; `stop` ends it. */
export async function startBareRead({ databaseUrl }: World): Promise<{ port: number; stop(): Promise<void> }> {
  const [port = 0] = await freePorts(1)
  const args = [join(import.meta.dirname, 'bare-read.ts'), String(port), databaseUrl, String(poolMax)]
  const child: ChildProcess = spawn(nodePath, [...hugePageFlags, ...args], {
    env: bareEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await Promise.race([
    once(child.stdout ?? child, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('the bare route did not start'))),
  ])
  return {
    port,
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

const pgbench = ['/usr/bin/pgbench', '/usr/lib/postgresql/15/bin/pgbench'].find((path) => existsSync(path))

/** Transactions per second of pgbench with the same SQL; undefined without pgbench. */
export async function measurePgbench(
  { dir, databaseUrl }: World,
  recorded: readonly Recorded[],
  { workers, seconds }: Timing,
): Promise<number | undefined> {
  if (pgbench === undefined) return undefined
  const files = await Promise.all(
    recorded.map(async ({ rate, findUpload, insert }, index) => {
      const file = join(dir, `pgbench-${index}.sql`)
      await writeFile(file, `${[rate, findUpload, insert].map(inline).join('\n')}\n`)
      return file
    }),
  )
  const args = ['-n', '-c', String(workers), '-j', '2', '-T', String(seconds), ...files.flatMap((file) => ['-f', file])]
  const output = await runCommand(pgbench, [...args, databaseUrl], { env: process.env })
  return Number(/tps = ([\d.]+)/.exec(output)?.[1] ?? Number.NaN)
}

/** Inlines the statement's values on one line, for pgbench. */
function inline({ text, values }: Statement): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return `${line.replace(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1]))};`
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`
  return `'${String(value).replaceAll("'", "''")}'`
}

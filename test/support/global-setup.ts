// Starts what the integration tests share: PostgreSQL 18 (and 15 where the machine has it), NATS, an object store and
// Triton, each a real server on a free port with its files in one temporary folder. The servers end with this program
// however it ends. After a failure the folder stays, with logs and databases, and its name is printed.
import { join } from 'node:path'
import type { Say } from '@matte/local/say'
import type { TestProject } from 'vitest/node'
import { makeTemplate, type PostgresServer } from './database.ts'
import { reportSkip } from './report/skips.ts'
import { keepRunDir, removeRunDir, startRun } from './run-dir.ts'
import { type OwnServer, ownNats, ownPostgres, ownStore, ownTriton } from './servers.ts'
import { findSystemPostgres } from './system-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The shared PostgreSQL 18, as its superuser. */
    databaseUrl: string
    /** Every PostgreSQL to test SQL on; `url` is null where the machine lacks that version. */
    postgresServers: readonly PostgresServer[]
    natsUrl: string
    storeEndpoint: string
    storeAccessKeyId: string
    storeSecretAccessKey: string
    /** `host:port` of the shared Triton's gRPC; empty in a project without it. */
    tritonAddress: string
    /** Folder of this run: logs, and what private servers keep. */
    runDir: string
  }
}

const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }

/** What a project does without: Triton where it runs in the cluster, PostgreSQL 15 where no SQL is tested. */
export type Without = 'triton' | 'postgres15'

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return startShared(project)
}

/** Starts the servers and hands out where they are; the answer stops them. */
export async function startShared(
  project: TestProject,
  without: readonly Without[] = [],
): Promise<() => Promise<void>> {
  const runDir = startRun()
  const servers: OwnServer[] = []
  const say: Say = (line) => void process.stdout.write(`[servers] ${line}\n`)
  const place = (name: string) => ({ dir: join(runDir, name), say })
  const keep = async (starting: Promise<OwnServer>): Promise<OwnServer> => {
    const server = await starting
    servers.push(server)
    return server
  }
  const stopAll = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()))
  }

  try {
    const [postgresServers, nats, store, triton] = await Promise.all([
      Promise.all([postgres18(), ...(without.includes('postgres15') ? [] : [postgres15()])]),
      keep(ownNats(place('nats'))),
      keep(ownStore(place('store'), credentials)),
      without.includes('triton') ? { url: '' } : keep(ownTriton(place('triton'))),
    ])
    project.provide('databaseUrl', postgresServers[0].url)
    project.provide('postgresServers', postgresServers)
    project.provide('natsUrl', nats.url)
    project.provide('storeEndpoint', store.url)
    project.provide('storeAccessKeyId', credentials.accessKeyId)
    project.provide('storeSecretAccessKey', credentials.secretAccessKey)
    project.provide('tritonAddress', triton.url)
    project.provide('runDir', runDir)
  } catch (error) {
    await stopAll()
    throw error
  }

  async function postgres18() {
    const { url } = await keep(ownPostgres(place('postgres-18')))
    await makeTemplate(url)
    return { version: 18, url }
  }

  async function postgres15() {
    const installation = findSystemPostgres(15)
    if (installation === undefined) {
      reportSkip({ matching: 'PostgreSQL 15', reason: 'this machine has no PostgreSQL 15 (Debian: postgresql-15)' })
      return { version: 15, url: null }
    }
    const { url } = await keep(ownPostgres(place('postgres-15'), installation))
    await makeTemplate(url)
    return { version: 15, url }
  }

  return async () => {
    await stopAll()
    const failed =
      project.vitest.state.getCountOfFailedTests() > 0 || project.vitest.state.getUnhandledErrors().length > 0
    if (!failed) return removeRunDir(runDir)
    keepRunDir(runDir)
    say(`logs and databases of this run are kept in ${runDir}`)
  }
}

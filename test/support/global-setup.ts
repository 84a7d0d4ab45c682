// Starts the servers that integration tests share: PostgreSQL, NATS, an object store and Triton, all real, on free
// ports, with files in one temporary folder. They end with this program, even if it is killed. After a failure the
// folder with logs and databases stays, and its name is printed.
import { join } from 'node:path'
import type { Say } from '@matte/local/say'
import type { TestProject } from 'vitest/node'
import { makeTemplate } from './database.ts'
import { keepRunDir, removeRunDir, startRun } from './run-dir.ts'
import { type OwnServer, ownNats, ownPostgres, ownStore, ownTriton } from './servers.ts'
import { findSystemPostgres } from './system-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser URL of the shared PostgreSQL: 18, or 15 in the project postgres-15. */
    databaseUrl: string
    natsUrl: string
    storeEndpoint: string
    storeAccessKeyId: string
    storeSecretAccessKey: string
    /** `host:port` of the shared Triton's gRPC; empty in projects without it. */
    tritonAddress: string
    /** Folder of this run: logs, and files of private servers. */
    runDir: string
  }
}

const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }

/** Servers that a project does not need: Triton when it runs in the cluster. */
export type Without = 'triton'

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return startShared(project)
}

/** Starts the servers and provides their addresses; returns a function that stops them. */
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

  const version = project.name === 'postgres-15' ? 15 : 18
  try {
    const [databaseUrl, nats, store, triton] = await Promise.all([
      startPostgres(),
      keep(ownNats(place('nats'))),
      keep(ownStore(place('store'), credentials)),
      without.includes('triton') ? { url: '' } : keep(ownTriton(place('triton'))),
    ])
    project.provide('databaseUrl', databaseUrl)
    project.provide('natsUrl', nats.url)
    project.provide('storeEndpoint', store.url)
    project.provide('storeAccessKeyId', credentials.accessKeyId)
    project.provide('storeSecretAccessKey', credentials.secretAccessKey)
    project.provide('tritonAddress', triton.url)
    project.provide('runDir', runDir)
  } catch (error) {
    keepRunDir(runDir) // the error names a log in the folder
    await stopAll()
    throw error
  }

  async function startPostgres(): Promise<string> {
    const { url } = await keep(ownPostgres(place('postgres'), version === 15 ? findSystemPostgres(15) : undefined))
    await makeTemplate(url)
    return url
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

// Twenty processes with the chart's pools under load, first at PostgreSQL itself, then through PgBouncer in transaction
// mode with the settings of docs/operations/pooler.md: connections at the server, and costs per task of both.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { rootDir } from '@matte/local/paths'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { isPgbouncerMissing, type Pooler } from '../../controller/pgbouncer.ts'
import type { Env, ProcessName } from '../../support/processes.ts'
import { type OwnServer, ownPostgres } from '../../support/servers.ts'
import { useStack } from '../../support/stack.ts'
import { loadService } from './loaded-service.ts'
import { startPoolerOfPage } from './pooler-page.ts'

const timeout = 900_000 // a bound against hanging
const tasks = 200

const names: ProcessName[] = [
  ...Array<ProcessName>(8).fill('api'),
  ...Array<ProcessName>(8).fill('worker'),
  ...Array<ProcessName>(4).fill('dispatcher'),
]
/** `database.poolMax` of the chart. */
const poolMax = Number(
  /^ {2}poolMax: (\d+)$/m.exec(readFileSync(join(rootDir, 'charts/matte/values.yaml'), 'utf8'))?.[1],
)

type Costs = {
  readonly connections: number
  readonly postgresMs: number
  readonly poolerMs: number
  readonly memoryMegabytes: number
  readonly tasksPerSecond: number
}
const measured: Partial<Record<'direct' | 'pooled', Costs>> = {}

describe.skipIf(isPgbouncerMissing('pooler.test'))('20 processes', () => {
  describe.each(['direct', 'pooled'] as const)('%s', (route) => {
    let server: OwnServer
    let pooler: Pooler | undefined
    const stack = useStack({
      own: ['postgres'],
      startPostgres: async (dir) => {
        const say = (line: string) => void process.stdout.write(`[servers] ${line}\n`)
        server = await ownPostgres({ dir, say }, undefined, { fsync: 'on', synchronous_commit: 'on' })
        return server
      },
      processes: [],
    })
    afterAll(() => pooler?.stop())

    async function settings(): Promise<Env> {
      const own: Env = { DATABASE_POOL_MAX: String(poolMax) }
      if (route === 'direct') return own
      pooler = await startPoolerOfPage(server.url)
      const url = stack.env('api').DATABASE_URL ?? ''
      return {
        ...own,
        DATABASE_URL: pooler.through(url),
        DATABASE_POOLER: 'transaction',
        DATABASE_DIRECT_URL: url,
      }
    }
    /** Sessions of Matte's users on the server. */
    async function listSessions(): Promise<number[]> {
      const { rows } = await sql<{ pid: number }>`
        select pid from pg_stat_activity where usename <> 'matte' and datname = current_database()`.execute(stack.db)
      return rows.map(({ pid }) => pid)
    }

    it('run the load', { timeout }, async () => {
      let [connections, watching] = [0, true]
      const watch = async (): Promise<void> => {
        while (watching) {
          connections = Math.max(connections, (await listSessions()).length)
          await pause(20)
        }
      }
      const watched = watch() // includes the start, when each process opens a direct connection
      try {
        measured[route] = { ...(await measure()), connections }
      } finally {
        watching = false
        await watched
      }
      process.stdout.write(`${route}: ${JSON.stringify(measured[route])}\n`)
    })

    async function measure(): Promise<Omit<Costs, 'connections'>> {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(stack.db)
      const postmaster = parentOf(rows[0]?.pid ?? 0)
      let calls = 0
      const service = await loadService(stack, {
        env: await settings(),
        names,
        lanes: 40,
        origin: () => {
          const apis = stack.processes('api')
          return apis[calls++ % apis.length]?.url ?? ''
        },
      })
      try {
        await service.untilMore(tasks / 3) // pools are filled
        const [postgresBefore, poolerBefore] = [cpuOfFamily(postmaster), cpuOf(pooler?.pid)]
        const [begun, first] = [performance.now(), service.accepted.length]
        await service.untilMore(tasks)
        const done = service.accepted.length - first
        const costs = {
          postgresMs: (cpuOfFamily(postmaster) - postgresBefore) / done,
          poolerMs: (cpuOf(pooler?.pid) - poolerBefore) / done,
          tasksPerSecond: (done * 1_000) / (performance.now() - begun),
          memoryMegabytes: (await listSessions()).reduce((sum, pid) => sum + privateMemory(pid), 0),
        }
        await service.end()
        await service.expectAgreement()
        return costs
      } finally {
        await service.close()
      }
    }
  })

  it('stay below 60 connections through the pooler, and not without', () => {
    const { direct, pooled } = measured
    if (direct === undefined || pooled === undefined) throw new Error('not measured')
    const ratio = (name: keyof Costs): string => (pooled[name] / direct[name]).toFixed(2)
    process.stdout.write(
      `pooled ÷ direct: connections ${ratio('connections')}, memory of the sessions ${ratio('memoryMegabytes')}, ` +
        `CPU of PostgreSQL per task ${ratio('postgresMs')}, tasks per second ${ratio('tasksPerSecond')}\n`,
    )
    expect(pooled.connections).toBeLessThan(60)
    expect(direct.connections).toBeGreaterThan(60)
  })
})

const statOf = (pid: number): string[] => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
const parentOf = (pid: number): number => Number(statOf(pid)[1])

const msPerTick = 10
/** CPU time of a process and its ended children, in milliseconds. */
function cpuOf(pid: number | undefined): number {
  if (pid === undefined) return 0
  return (
    statOf(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) * msPerTick
  )
}

function cpuOfFamily(parent: number): number {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  return pids.map(Number).reduce((sum, pid) => {
    try {
      return pid === parent || parentOf(pid) === parent ? sum + cpuOf(pid) : sum
    } catch {
      return sum // it has ended
    }
  }, 0)
}

/** In megabytes, without shared pages. */
function privateMemory(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return (
      [...text.matchAll(/^Private_\w+: +(\d+) kB$/gm)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0) /
      1_024
    )
  } catch {
    return 0 // it has ended
  }
}

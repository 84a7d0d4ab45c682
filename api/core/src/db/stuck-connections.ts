// Closes connections that no longer get responses, as after a failover that moves an address without a reset. A slow
// statement looks the same, so a new connection asks the server which processes have work; the others are closed (A55).
// Idle connections of the same age are not reused.
import pg from 'pg'
import type { Clock } from '../runtime/clock.ts'

/** Time without a response until the check. Claims of 15 s survive the failover. */
const silentMs = 2_000
/** Two misses are needed, because a response may be on its way at the first. */
const checkEveryMs = 1_000
const missesUntilStuck = 2
/** A younger connection already used the current route, so a new one would lead to the same server. */
const settledMs = 1_000

type Statement = {
  readonly pid: number
  readonly drop: () => void
}

type Running = Statement & { readonly sinceMs: number; misses: number }

export type FindWorking = (pids: readonly number[]) => Promise<ReadonlySet<number> | undefined>

export type StuckConnections = ReturnType<typeof stuckConnections>

export function stuckConnections({
  clock,
  findWorking,
}: {
  clock: Pick<Clock, 'monotonicMs'>
  findWorking: FindWorking
}) {
  const all = new Set<Running>()
  let asking = false
  let staleBeforeMs = Number.NEGATIVE_INFINITY

  async function check(): Promise<void> {
    const nowMs = clock.monotonicMs()
    const silent = [...all].filter(({ sinceMs }) => nowMs - sinceMs >= silentMs)
    if (silent.length === 0 || asking) return
    asking = true
    const working = await findWorking(silent.map(({ pid }) => pid))
    asking = false
    for (const one of silent) {
      one.misses = working === undefined || working.has(one.pid) ? 0 : one.misses + 1
      if (one.misses < missesUntilStuck || !all.has(one)) continue
      staleBeforeMs = nowMs
      one.drop()
    }
  }
  const timer = setInterval(() => void check(), checkEveryMs).unref()

  return {
    check,
    watch: (statement: Statement): (() => void) => {
      const running = { ...statement, sinceMs: clock.monotonicMs(), misses: 0 }
      all.add(running)
      return () => void all.delete(running)
    },
    /** The server of a connection accepts no writes: connections of its time are not reused. */
    leaveServer: (madeAtMs: number): void => {
      const nowMs = clock.monotonicMs()
      if (nowMs - madeAtMs >= settledMs) staleBeforeMs = nowMs
    },
    isStale: (madeAtMs: number): boolean => madeAtMs < staleBeforeMs,
    close: () => clearInterval(timer),
  }
}

/** Asks over a new connection, which uses the current route to the server. */
export const askServer =
  (config: pg.ClientConfig): FindWorking =>
  async (pids) => {
    const client = new pg.Client({ ...config, query_timeout: 3_000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query<{ own: number; working: number[] }>(workingQuery, [pids])
      const [answer] = rows
      // Behind a pooler the connection's process id is not the server's.
      if (answer === undefined || answer.own !== processOf(client)) return undefined
      return new Set(answer.working)
    } catch {
      return undefined
    } finally {
      await client.end().catch(() => undefined)
    }
  }

const workingQuery = `
  select pg_backend_pid() as own, array(
    select pid from pg_stat_activity
     where pid = any($1::int[]) and datname = current_database() and usename = session_user and state not like 'idle%'
  ) as working`

/** Missing in the driver's types; 0 disables the check. */
export const processOf = (client: object): number =>
  'processID' in client && typeof client.processID === 'number' ? client.processID : 0

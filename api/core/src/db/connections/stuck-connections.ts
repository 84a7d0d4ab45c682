// A failover that moves an address without a reset leaves connections that swallow what is sent. A slow statement looks
// the same from here, so the server is asked over a new connection: what it knows of as working is left alone, the rest
// is dropped (A55). Idle connections of that age are as dead and are not used again.
import pg from 'pg'
import type { Clock } from '../../runtime/clock.ts'

/** A statement is asked after when it has had no answer for so long. Claims of 15 s survive the failover that way. */
const silentMs = 2_000
/** How often; an answer may be on its way at the first miss, so two are needed. */
const checkEveryMs = 1_000
const missesUntilStuck = 2

type Statement = {
  /** The server's process, as the connection's start named it. */
  readonly pid: number
  /** Ends the connection, and with it the statement and whatever follows on it. */
  readonly drop: () => void
}

type Running = Statement & { readonly sinceMs: number; misses: number }

/** Which of these server processes have work. Undefined: nobody can say. */
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
    /** Returns what to call once the statement has been answered. */
    watch: (statement: Statement): (() => void) => {
      const running = { ...statement, sinceMs: clock.monotonicMs(), misses: 0 }
      all.add(running)
      return () => void all.delete(running)
    },
    /** True for a connection of that age once another as old has turned out to be stuck. */
    isStale: (madeAtMs: number): boolean => madeAtMs < staleBeforeMs,
    close: () => clearInterval(timer),
  }
}

/** Asks over a connection of its own, which knows the way that the server is reached by now. */
export const askServer =
  (config: pg.ClientConfig): FindWorking =>
  async (pids) => {
    const client = new pg.Client({ ...config, query_timeout: 3_000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query<{ own: number; working: number[] }>(workingQuery, [pids])
      const [answer] = rows
      // Behind a pooler the number that a connection is told is none of the server's processes.
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

/** The driver has it and its types do not; a driver without it lets nothing be judged. */
export const processOf = (client: object): number =>
  'processID' in client && typeof client.processID === 'number' ? client.processID : 0

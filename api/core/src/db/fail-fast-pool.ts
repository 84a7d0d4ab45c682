// The pool that Kysely uses.
// - Database unavailable: callers fail at once, and one caller every 250 ms retries.
// - Database busy: a caller that waits 3 s for a connection gets DatabaseBusy, because this is no outage.
// - No response (stuck-connections.ts): the connection is closed, because ROLLBACK would wait behind the statement.
// - Read-only server: after a failover the connection may still lead to the former primary, so it is closed, and the
//   session at the server too, because a pooler may give it to the next connection.
// - Repeated statements are prepared (statement-names.ts); after a deadlock, single statements are retried once.
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'
import { isReadOnlyServer } from './database-errors.ts'
import type { DatabaseObserver } from './database-metrics.ts'
import { connectWithFallback } from './pool-fallback.ts'
import { type StatementNames, statementNames } from './statement-names.ts'
import { type FindWorking, processOf, type StuckConnections, stuckConnections } from './stuck-connections.ts'

export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  readonly code = '08001'
}

export class DatabaseBusy extends Error {
  override name = 'DatabaseBusy'
}

/** Time between connection attempts while the database is unavailable. */
const retryEveryMs = 250

type FailFastPool = PostgresPool & {
  oldestWaitMs(): number
}

type FailFastOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly isAway: (error: unknown) => boolean
  readonly isServerFull: (error: unknown) => boolean
  readonly findWorking: FindWorking
  readonly names?: StatementNames
  readonly withBegin?: string
  readonly observer: DatabaseObserver
  readonly logger: Pick<Logger, 'warn'>
}

type Shared = Pick<FailFastOptions, 'clock' | 'observer'> & {
  readonly names: StatementNames
  readonly withBegin: string | undefined
  readonly stuck: StuckConnections
}
type Guarded = { readonly client: PostgresPoolClient; readonly madeAtMs: number }

export function failFastPool(pool: pg.Pool, options: FailFastOptions): FailFastPool {
  const { clock, isAway, findWorking, observer, names = statementNames(), withBegin, ...room } = options
  const waiting = new Set<{ readonly sinceMs: number }>() // in order of arrival
  const connectWithin = connectWithFallback(pool, { clock, ...room })
  const stuck = stuckConnections({ clock, findWorking })
  const guard = createGuard({ clock, observer, names, withBegin, stuck })
  let away: { readonly cause: unknown; retryAtMs: number } | undefined

  function refuseWhileAway(): void {
    if (away === undefined) return
    const nowMs = clock.monotonicMs()
    if (nowMs < away.retryAtMs) throw new DatabaseAway('the database is unavailable', { cause: away.cause })
    away.retryAtMs = nowMs + retryEveryMs // this caller retries; others fail at once until then
  }

  function toPoolError(error: unknown): unknown {
    if (isQueueTimeout(error)) {
      return away === undefined
        ? new DatabaseBusy('no database connection became free', { cause: error })
        : new DatabaseAway('the database is unavailable', { cause: error })
    }
    observer.connectFailed(error)
    if (isAway(error)) away = { cause: error, retryAtMs: clock.monotonicMs() + retryEveryMs }
    return error
  }

  async function connect(): Promise<PostgresPoolClient> {
    refuseWhileAway()
    const ticket = { sinceMs: clock.monotonicMs() }
    waiting.add(ticket)
    try {
      for (;;) {
        const client = await connectWithin()
        away = undefined
        const known = guard(client)
        if (!stuck.isStale(known.madeAtMs)) return known.client
        client.release(true)
      }
    } catch (error) {
      throw toPoolError(error)
    } finally {
      waiting.delete(ticket)
    }
  }

  return {
    connect: () => connect().catch(countUnserved(observer)),
    options: pool.options,
    end: () => {
      stuck.close()
      return pool.end()
    },
    oldestWaitMs: () => {
      const [first] = waiting
      // Below its limit the pool opens a connection, so callers do not wait for a busy one.
      if (first === undefined || pool.totalCount < pool.options.max) return 0
      return clock.monotonicMs() - first.sinceMs
    },
  }
}

/** The driver's message if no connection is free; failed connections have others. */
const isQueueTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect'

const countUnserved =
  ({ notServed }: DatabaseObserver) =>
  (error: unknown): never => {
    notServed(error)
    throw error
  }

function createGuard(shared: Shared): (client: pg.PoolClient) => Guarded {
  const guarded = new WeakMap<pg.PoolClient, Guarded>()
  return (client) => {
    const known = guarded.get(client)
    if (known !== undefined) return known
    const madeAtMs = shared.clock.monotonicMs()
    const made = { client: guardClient(client, { ...shared, madeAtMs }), madeAtMs }
    guarded.set(client, made)
    return made
  }
}

function guardClient(client: pg.PoolClient, shared: Shared & { readonly madeAtMs: number }): PostgresPoolClient {
  const { names, withBegin, stuck, madeAtMs } = shared
  const statement = { pid: processOf(client), drop: () => void endAtOnce(client) }
  const observe = observeStatements(shared)
  let [unfit, readOnlyServer] = [false, false]
  const query = async (text: string, given: readonly unknown[] = []): Promise<unknown> => {
    const values = [...given]
    const { begins, inTransaction, ended } = observe(text)
    const sent = begins && withBegin !== undefined ? `${text}; ${withBegin}` : text
    const name = values.length === 0 ? undefined : names.nameOf(text)
    const answered = stuck.watch(statement)
    let failure: unknown
    try {
      return await client.query({ text: sent, values, ...(name !== undefined && { name }) })
    } catch (error) {
      failure = error
      const stale = isStale(error)
      const silent = error instanceof Error && error.message === 'Query read timeout'
      const readOnly = isReadOnlyServer(error)
      unfit ||= stale || silent || readOnly
      readOnlyServer ||= readOnly
      if (readOnly) stuck.leaveServer(madeAtMs)
      if (silent) statement.drop()
      if (stale) names.renew()
      if (inTransaction || !(stale || isDeadlock(error))) throw error // the transaction has failed
      return await client.query({ text, values })
    } finally {
      answered()
      ended(failure)
    }
  }
  return {
    query: query as PostgresPoolClient['query'], // the overload with a cursor is unused
    release: (discard = false) => {
      if (readOnlyServer) void endStandbySession(client)
      else client.release(discard || unfit)
    },
  }
}

/** A server in read-only mode that is no standby keeps its session. */
const endSession: pg.QueryConfig & { query_timeout: number } = {
  text: 'select pg_terminate_backend(pg_backend_pid()) where pg_is_in_recovery()',
  query_timeout: 3_000,
}

async function endStandbySession(client: pg.PoolClient): Promise<void> {
  await client.query(endSession).catch(() => undefined) // its own end is an error
  client.release(true)
}

function observeStatements({ clock, observer }: Pick<Shared, 'clock' | 'observer'>) {
  let begunMs: number | undefined
  return (text: string) => {
    const sinceMs = clock.monotonicMs()
    const begins = /^(begin|start)/i.test(text)
    const ends = !begins && /^(commit|rollback)$/i.test(text)
    const transactionSinceMs = begunMs
    if (begins) begunMs = sinceMs
    else if (ends) begunMs = undefined
    return {
      begins,
      inTransaction: begunMs !== undefined,
      ended: (error: unknown): void => {
        const nowMs = clock.monotonicMs()
        if (ends && transactionSinceMs !== undefined) observer.transactionEnded((nowMs - transactionSinceMs) / 1_000)
        if (error !== undefined || !(begins || ends)) observer.statementEnded(text, (nowMs - sinceMs) / 1_000, error)
      },
    }
  }
}

/** The driver closes a connection that has an open statement and rejects later ones. */
const endAtOnce = (client: pg.PoolClient & { end?: () => Promise<void> }): Promise<void> | undefined => client.end?.()

/** PostgreSQL rolled this statement back and continues the other one. */
export const isDeadlock = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '40P01'

const isStale = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '0A000' && /cached plan/.test(error.message)

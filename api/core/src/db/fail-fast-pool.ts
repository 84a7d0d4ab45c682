// The pool as Kysely sees it, with two answers that the plain one gives late or not at all:
// - the database is away: after a connection that failed, everybody gets that answer at once, and one asker every
//   250 ms tries again. Otherwise each request would wait for its own connection to fail, and all of them come at the restart;
// - the database is busy: who waited 3 s for a free connection gets an error of its own, since this is no outage.
// While the server has no room for one more connection, the pool makes do with those that it has (make-do.ts).
// A statement that gets no answer, in time or from a server that knows nothing of it (stuck-connections.ts), takes its
// connection with it: its own ROLLBACK and the next user would wait behind it. Statements that come again are prepared
// (statement-names.ts). A statement outside of a transaction is sent once more after a deadlock.
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'
import {
  type FindWorking,
  processOf,
  type StuckConnections,
  stuckConnections,
} from './connections/stuck-connections.ts'
import { makeDo } from './make-do.ts'
import type { DatabaseObserver } from './metrics/database-metrics.ts'
import { type StatementNames, statementNames } from './statement-names.ts'

/** A connection could not be made a moment ago. Its code is SQL's class for connections, 08. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  readonly code = '08001'
}

/** All connections are in use and stayed so for as long as one may wait. */
export class DatabaseBusy extends Error {
  override name = 'DatabaseBusy'
}

/** How long everybody hears that the database is away before one asker tries again. */
const retryEveryMs = 250

type FailFastPool = PostgresPool & {
  /** Milliseconds that the first in the queue has waited; 0 when nobody waits, or connections may still be added. */
  oldestWaitMs(): number
}

type FailFastOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** True for an error of the connection or of a server that starts or stops. */
  readonly isAway: (error: unknown) => boolean
  /** True for a server that takes no more connections. */
  readonly hasNoRoom: (error: unknown) => boolean
  readonly findWorking: FindWorking
  readonly names?: StatementNames
  /** Statements that are sent with each BEGIN. */
  readonly withBegin?: string
  readonly observer: DatabaseObserver
  readonly logger: Pick<Logger, 'warn'>
}

/** What the wrappers of all connections share. */
type Shared = Pick<FailFastOptions, 'clock' | 'observer'> & {
  readonly names: StatementNames
  readonly withBegin: string | undefined
  readonly stuck: StuckConnections
}
type Guarded = { readonly client: PostgresPoolClient; readonly madeAtMs: number }

export function failFastPool(pool: pg.Pool, options: FailFastOptions): FailFastPool {
  const { clock, isAway, findWorking, observer, names = statementNames(), withBegin, ...room } = options
  const waiting = new Set<{ readonly sinceMs: number }>() // in the order of their coming
  const connectWithin = makeDo(pool, { clock, ...room })
  const stuck = stuckConnections({ clock, findWorking })
  const guard = createGuard({ clock, observer, names, withBegin, stuck })
  let away: { readonly cause: unknown; retryAtMs: number } | undefined

  function refuseWhileAway(): void {
    if (away === undefined) return
    const nowMs = clock.monotonicMs()
    if (nowMs < away.retryAtMs) throw new DatabaseAway('the database is away', { cause: away.cause })
    away.retryAtMs = nowMs + retryEveryMs // this asker tries, the next ones still hear the old answer
  }

  function toPoolError(error: unknown): unknown {
    if (isQueueTimeout(error)) {
      return away === undefined
        ? new DatabaseBusy('no database connection became free', { cause: error })
        : new DatabaseAway('the database is away', { cause: error })
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
      // Below its bound the pool grows: who waits then waits for a new connection, and for nobody that is served.
      if (first === undefined || pool.totalCount < pool.options.max) return 0
      return clock.monotonicMs() - first.sinceMs
    },
  }
}

/** The pool's words for no free connection; a connection that cannot be made has others. */
const isQueueTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect'

const countUnserved =
  ({ notServed }: DatabaseObserver) =>
  (error: unknown): never => {
    notServed(error)
    throw error
  }

/** One wrapper a connection: Kysely keeps its own state by it. */
function createGuard(shared: Shared): (client: pg.PoolClient) => Guarded {
  const guarded = new WeakMap<pg.PoolClient, Guarded>()
  return (client) => {
    const known = guarded.get(client) ?? { client: guardClient(client, shared), madeAtMs: shared.clock.monotonicMs() }
    guarded.set(client, known)
    return known
  }
}

function guardClient(client: pg.PoolClient, shared: Shared): PostgresPoolClient {
  const { names, withBegin, stuck } = shared
  const statement = { pid: processOf(client), drop: () => void endAtOnce(client) }
  const observe = observeStatements(shared)
  let unfit = false
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
      unfit ||= stale || silent
      if (silent) statement.drop()
      if (stale) names.renew()
      if (inTransaction || !(stale || isDeadlock(error))) throw error // the error has ended the transaction
      return await client.query({ text, values })
    } finally {
      answered()
      ended(failure)
    }
  }
  return {
    query: query as PostgresPoolClient['query'], // of its forms the one with a cursor is not in use
    release: (discard = false) => client.release(discard || unfit),
  }
}

/** Follows the statements of one connection, which come one after the other, and the transactions that they make. */
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

/** The driver cuts a connection off that has a statement without an answer, and refuses what follows on it. */
const endAtOnce = (client: pg.PoolClient & { end?: () => Promise<void> }): Promise<void> | undefined => client.end?.()

/** PostgreSQL has chosen this statement, and rolled it back; the other one goes on. */
export const isDeadlock = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '40P01'

/** A prepared statement whose table has been altered since. */
const isStale = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '0A000' && /cached plan/.test(error.message)

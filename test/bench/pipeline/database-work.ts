// Work of PostgreSQL for the pipeline: statements, write-ahead log, syncs.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

export type DatabaseWork = {
  readonly statements: number
  readonly claims: number
  readonly commits: number
  readonly walBytes: number
  readonly walSyncs: number
  readonly byText: ReadonlyMap<string, { readonly calls: number; readonly ms: number }>
}

type Statement = { readonly text: string; readonly calls: number; readonly ms: number }

/** Words of one statement alone. */
const claimText = /seen_slot/

/** Counters so far; `spent` makes a difference of two. BEGIN, COMMIT and the bench's own statements are left out. */
export async function readDatabaseWork(db: Db): Promise<DatabaseWork> {
  const { rows: statements } = await sql<Statement>`
    select query as text, sum(calls)::float8 as calls, sum(total_exec_time + total_plan_time) as ms
      from pg_stat_statements
     where toplevel and query !~* '^\\s*(begin|commit|rollback|start)' and query !~ 'pg_stat_'
     group by query`.execute(db)
  const { rows } = await sql<Omit<DatabaseWork, 'statements' | 'claims' | 'byText'>>`
    select (select xact_commit from pg_stat_database where datname = current_database()) as commits,
           (select wal_bytes::float8 from pg_stat_wal) as "walBytes",
           (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal') as "walSyncs"`.execute(db)
  const [counters = { commits: Number.NaN, walBytes: Number.NaN, walSyncs: Number.NaN }] = rows
  const sum = (of: readonly Statement[]): number => of.reduce((total, { calls }) => total + calls, 0)
  return {
    ...counters,
    statements: sum(statements),
    claims: sum(statements.filter(({ text }) => claimText.test(text))),
    byText: new Map(statements.map(({ text, calls, ms }) => [text, { calls, ms }])),
  }
}

export function spent(before: DatabaseWork, after: DatabaseWork): DatabaseWork {
  const byText = new Map(
    [...after.byText].map(([text, { calls, ms }]) => {
      const old = before.byText.get(text)
      return [text, { calls: calls - (old?.calls ?? 0), ms: ms - (old?.ms ?? 0) }] as const
    }),
  )
  return {
    statements: after.statements - before.statements,
    claims: after.claims - before.claims,
    commits: after.commits - before.commits,
    walBytes: after.walBytes - before.walBytes,
    walSyncs: after.walSyncs - before.walSyncs,
    byText,
  }
}

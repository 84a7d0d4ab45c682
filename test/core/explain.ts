// Cost of a function's statements: plan and pages of each.
import type { Db } from '@matte/core/db/database'
import type { Tables } from '@matte/core/db/tables/index'
import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import pg from 'pg'

export type Cost = {
  /** Pages of 8 KiB, read from disk or memory. */
  readonly pages: number
  /** Tables with a sequential scan. */
  readonly wholeTables: readonly string[]
}

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** Explains each statement that `send` issues; the statements themselves return nothing. */
export async function costOf(url: string, send: (db: Db) => Promise<unknown>): Promise<Cost> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const plans: Plan[] = []
  const connection: DatabaseConnection = {
    executeQuery: async ({ sql, parameters }) => {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${sql}`, [...parameters])
      plans.push(rows[0]['QUERY PLAN'][0].Plan)
      return { rows: [] }
    },
    streamQuery: () => {
      throw new Error('nothing is read as a stream')
    },
  }
  class ExplainingDriver extends DummyDriver {
    override acquireConnection = async () => connection
  }
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new ExplainingDriver(),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  try {
    await send(db)
  } finally {
    await client.end()
  }
  return {
    pages: plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0),
    wholeTables: plans.flatMap(wholeTablesOf),
  }
}

function wholeTablesOf(plan: Plan): string[] {
  const own = plan['Node Type'].endsWith('Seq Scan') ? [plan['Relation Name'] ?? ''] : []
  return [...own, ...(plan.Plans ?? []).flatMap(wholeTablesOf)]
}

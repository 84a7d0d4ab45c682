// The SQL that statements of many parts come to, so that a review sees a change of it as a change of SQL.
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { describe, expect, it } from 'vitest'
import { readDemand } from '../scale/demand-queries.ts'
import { recordInference } from '../scale/inference-queries.ts'
import { emptyBuckets } from '../scale/latency.ts'
import { defaultPlans } from '../workspace/plan.ts'
import type { Db } from './database.ts'
import type { Tables } from './tables/index.ts'

/** What `act` sends to a database that answers nothing. */
async function sqlOf(act: (db: Db) => Promise<unknown>): Promise<string> {
  const statements: string[] = []
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql.replace(/^\n|\s+$/g, '')),
  })
  await act(db)
  return `${statements.join(';\n')}\n`
}

describe('the SQL of', () => {
  it('readDemand', async () => {
    const pools = [{ pool: 'one', modelVersions: ['service-v2'] }]
    await expect(await sqlOf((db) => readDemand(db, { plans: defaultPlans, pools }))).toMatchFileSnapshot(
      'snapshots/read-demand.sql',
    )
  })

  it('recordInference', async () => {
    const nothing = { done: 0, failed: 0, timedOut: 0, unavailable: 0, busySeconds: 0, latencyBuckets: emptyBuckets() }
    const windows = [{ pool: 'one', revision: 'aaaaaaaa', ...nothing }]
    await expect(await sqlOf((db) => recordInference(db, 'replica', windows))).toMatchFileSnapshot(
      'snapshots/record-inference.sql',
    )
  })
})

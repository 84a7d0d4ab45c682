// The SQL that statements of many parts come to, so that a review sees a change of it as a change of SQL.
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { describe, expect, it } from 'vitest'
import { readDemand } from '../scale/demand-queries.ts'
import { recordInference } from '../scale/inference-queries.ts'
import { emptyBuckets } from '../scale/latency.ts'
import { claimNextTask } from '../task/claim-task.ts'
import { countTasks, listTasks } from '../task/task-queries.ts'
import { claimDueDeliveries } from '../webhook/claim-deliveries.ts'
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
  await act(db).catch(() => undefined) // some miss the row that an answer always has
  if (statements.length === 0) throw new Error('nothing was sent')
  return `${statements.join(';\n')}\n`
}

describe('the SQL of', () => {
  it('readDemand', async () => {
    const pools = [{ pool: 'one', modelVersions: ['service-v2'] }]
    await expect(await sqlOf((db) => readDemand(db, { plans: defaultPlans, pools }))).toMatchFileSnapshot(
      'snapshots/read-demand.sql',
    )
  })

  it('claimNextTask', async () => {
    const options = { models: ['service-v2'], plans: defaultPlans, claimMs: 15_000 }
    await expect(await sqlOf((db) => claimNextTask(db, options))).toMatchFileSnapshot('snapshots/claim-next-task.sql')
  })

  it('claimDueDeliveries', async () => {
    const options = { limit: 10, claimMs: 30_000, perTargetInFlight: 4, perWorkspaceInFlight: 16 }
    await expect(await sqlOf((db) => claimDueDeliveries(db, options))).toMatchFileSnapshot(
      'snapshots/claim-due-deliveries.sql',
    )
  })

  it('listTasks', async () => {
    const filter = { workspaceId: 'w', status: 'queued' as const, from: new Date(0), before: new Date(1) }
    const after = { createdAtMicros: '1', id: 'i' }
    const byPage = (db: Db) => listTasks(db, filter, { limit: 20, offset: 40 })
    const byCursor = (db: Db) => listTasks(db, filter, { limit: 20, offset: 0, after })
    const count = (db: Db) => countTasks(db, filter)
    const sent = [await sqlOf(byPage), await sqlOf(byCursor), await sqlOf(count)].join('\n')
    await expect(sent).toMatchFileSnapshot('snapshots/list-tasks.sql')
  })

  it('recordInference', async () => {
    const nothing = { done: 0, failed: 0, timedOut: 0, unavailable: 0, busySeconds: 0, latencyBuckets: emptyBuckets() }
    const windows = [{ pool: 'one', revision: 'aaaaaaaa', ...nothing }]
    await expect(await sqlOf((db) => recordInference(db, 'replica', windows))).toMatchFileSnapshot(
      'snapshots/record-inference.sql',
    )
  })
})

// Number of database statements per task, from pg_stat_statements over our three processes, without BEGIN and COMMIT.
// Periodic statements are excluded by their rarity, and slowed down where possible. The model is a fake: the duration
// of an inference changes no statement.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../support/client.ts'
import { givenWorkspace } from '../support/factories.ts'
import { type Fake, startFake } from '../support/fake-triton.ts'
import { startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { smallImage } from './given.ts'

const tasks = 50

const PLANS = JSON.stringify({ pro: { concurrentTasks: 1_000, monthlyQuota: 1_000 } })
const seldom = '60000'
const stack = useStack({
  own: ['postgres'],
  postgresSettings: { shared_preload_libraries: 'pg_stat_statements' },
  processes: ['api', 'dispatcher'],
  env: {
    api: { PLANS },
    worker: {
      PLANS,
      CLAIM_MS: '15000',
      CLAIM_EVERY_MS: seldom,
      SWEEP_EVERY_MS: seldom,
      RETENTION_EVERY_MS: seldom,
    },
  },
})
let triton: Fake
let client: Client

beforeAll(async () => {
  triton = await startFake()
  await sql`create extension pg_stat_statements`.execute(stack.db)
  const { id: workspaceId } = await givenWorkspace(stack.db, { plan: 'pro', credits: 1_000 })
  const key = generateApiKey()
  await insertApiKey(stack.db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
  client = createClient(stack.process('api').url, key.key)
})
afterAll(() => triton?.stop())

type Cost = { readonly perTask: number; readonly statements: readonly string[] }

async function countStatements(act: () => Promise<unknown>): Promise<Cost> {
  await sql`select pg_stat_statements_reset()`.execute(stack.db)
  const begunMs = performance.now()
  await act()
  const seconds = (performance.now() - begunMs) / 1000
  // Loops run once a second, so slow machines count more passes. A task runs each of its statements once.
  const least = Math.min(tasks / 2, Math.max(tasks / 5, 1.2 * seconds))
  const { rows } = await sql<{ calls: number; query: string }>`
    select calls::int, query from pg_stat_statements
      join pg_database d on d.oid = dbid and d.datname = current_database()
     where toplevel and query !~* '^\\s*(begin|commit|rollback|start)'`.execute(stack.db)
  const each = rows.filter(({ calls }) => calls >= least).toSorted((a, b) => b.calls - a.calls)
  return {
    perTask: each.reduce((sum, { calls }) => sum + calls, 0) / tasks,
    statements: each.map(({ calls, query }) => `${calls} × ${query.replace(/\s+/g, ' ').slice(0, 90)}`),
  }
}

describe('the database runs', () => {
  it('three statements for an accepted task, on a plan with quota and credits', async () => {
    const imageUrl = await client.upload(await smallImage())
    const ids: string[] = []
    const cost = await countStatements(async () => {
      for (let i = 0; i < tasks; i++) ids.push((await client.createTask({ imageUrl })).id)
    })
    for (const id of ids) await client.cancelTask(id)
    expect(cost.perTask, cost.statements.join('\n')).toBe(3)
  })

  it('at most nine over a task’s whole life, from creation to its delivered webhook', async () => {
    const imageUrl = await client.upload(await smallImage())
    const receiver = await startReceiver()
    await client.signingSecret() // created once per workspace
    const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [triton.address], default: true }]
    await stack.start('worker', { MODELS_STATIC: JSON.stringify(models) })
    const cost = await countStatements(async () => {
      for (let i = 0; i < tasks; i++) await client.createTask({ imageUrl, callbackUrl: receiver.url })
      await receiver.until(tasks)
    })
    await receiver.close()
    expect(triton.counts().done).toBe(tasks)
    expect(cost.perTask, cost.statements.join('\n')).toBeLessThanOrEqual(9)
    // The statements of creation, claim, end and delivery are among them; otherwise some were not counted.
    expect(cost.perTask).toBeGreaterThanOrEqual(6)
  })
})

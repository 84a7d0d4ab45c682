// The service of a test file: PostgreSQL, NATS, object store, API, worker and dispatcher, all real. Its model servers
// are fake Tritons, so a test chooses whether a task ends at once, after a while or never.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { givenWorkspace, readTask } from '@matte/test/support/factories.ts'
import { type Fake, startFake } from '@matte/test/support/fake-triton.ts'
import { freePorts } from '@matte/test/support/free-ports.ts'
import { type Stack, useStack } from '@matte/test/support/stack.ts'
import { until } from '@matte/test/support/until.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll } from 'vitest'

/** Models of the service: `slow` takes seconds, and `absent` has no model server. */
const models = { usual: 'service-v2', slow: 'slow', absent: 'absent' } as const

/** Long enough that a test meets the task while it is processed. */
const slowMs = 4_000

export type WorkspaceOptions = {
  readonly plan?: string
  readonly credits?: number
  /** The month's quota of the plan is used up. */
  readonly hasQuotaUsed?: boolean
}

export type Workspace = { readonly id: string; readonly apiKey: string }

/** Tasks by status, and the credits of all lots. */
export type Account = {
  readonly tasks: number
  readonly succeeded: number
  readonly spent: number
  readonly held: number
}

export type Service = {
  readonly stack: Stack
  readonly origin: string
  createWorkspace(options?: WorkspaceOptions): Promise<Workspace>
  /** Waits until a task of the workspace has the status. */
  untilTask(workspaceId: string, status: 'queued' | 'processing'): Promise<string>
  /** Waits until every task of the workspace has ended, and counts. */
  settle(workspaceId: string): Promise<Account>
  /** Stored result of a task. */
  readResult(taskId: string): Promise<Buffer>
}

/** A service for the tests of the enclosing block; use it inside tests and hooks only. */
export function useService(): Service {
  const fakes: Fake[] = []
  const stack = useStack({ processes: [] })
  beforeAll(async () => {
    const [usual, slow] = await Promise.all([startFake(), startFake({ behaviour: { serviceMs: slowMs } })])
    fakes.push(usual, slow)
    const [nobody = 0] = await freePorts(1)
    const served = [
      { name: models.usual, tritonModel: 'u2netp', addresses: [usual.address], default: true },
      { name: models.slow, tritonModel: 'u2netp', addresses: [slow.address] },
      { name: models.absent, tritonModel: 'u2netp', addresses: [`127.0.0.1:${nobody}`] },
    ]
    const env = { MODELS_STATIC: JSON.stringify(served) }
    const worker = await stack.start('worker', env)
    await Promise.all([stack.start('api', env), stack.start('dispatcher')])
    await worker.untilLogged('pod ready', (line) => line.pod === usual.address)
  })
  afterAll(() => Promise.all(fakes.map((fake) => fake.kill())))
  return {
    stack,
    get origin() {
      return stack.process('api').url
    },
    createWorkspace: (options) => createWorkspace(stack, options),
    untilTask: (workspaceId, status) => untilTask(stack, workspaceId, status),
    settle: (workspaceId) => settle(stack, workspaceId),
    readResult: (taskId) => readResult(stack, taskId),
  }
}

async function createWorkspace(
  { db }: Stack,
  { plan = 'enterprise', credits = 1_000, hasQuotaUsed = false }: WorkspaceOptions = {},
): Promise<Workspace> {
  const { id } = await givenWorkspace(db, { plan, credits })
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId: id, name: 'conformance', scopes, expiresAt: null })
  if (hasQuotaUsed) {
    await sql`update workspace set quota_used = 1000000, quota_month = date_trunc('month', now() at time zone 'utc')::date
               where id = ${id}`.execute(db)
  }
  return { id, apiKey: key.key }
}

async function untilTask({ db }: Stack, workspaceId: string, status: 'queued' | 'processing'): Promise<string> {
  const { id } = await until(`a task is ${status}`, () =>
    db
      .selectFrom('task')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('status', '=', status)
      .executeTakeFirst(),
  )
  return id
}

async function settle({ db }: Stack, workspaceId: string): Promise<Account> {
  return until('every task of the workspace has ended', async () => {
    const { rows } = await sql<Account & { open: number }>`
      select (select count(*)::int from task where workspace_id = ${workspaceId}) as tasks,
             (select count(*)::int from task where workspace_id = ${workspaceId} and status = 'succeeded') as succeeded,
             (select count(*)::int from task
               where workspace_id = ${workspaceId} and status in ('queued', 'processing')) as open,
             coalesce(sum(spent), 0)::int as spent, coalesce(sum(held), 0)::int as held
        from credit_lot where workspace_id = ${workspaceId}`.execute(db)
    const [row] = rows
    if (row === undefined || row.open > 0) return undefined
    const { open: _none, ...account } = row
    return account
  })
}

async function readResult({ db, bucket }: Stack, taskId: string): Promise<Buffer> {
  const { result_key: key } = await readTask(db, taskId)
  if (key === null) throw new Error(`task ${taskId} has no result`)
  return bucket.get(key, { maxBytes: 50 * 1_048_576 })
}

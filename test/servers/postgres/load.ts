// Load on a whole service, and the clients' own log of it. At the end the database and the webhooks must agree with
// this log, task by task.
import { randomUUID } from 'node:crypto'
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { createClient } from '../../support/client.ts'
import { givenWorkspace, onePixelPng } from '../../support/factories.ts'
import { findBrokenRules } from '../../support/invariants.ts'
import type { Receiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

const credits = 1_000_000_000

/** No limit ends the load. */
export const plans = JSON.stringify({
  pro: { concurrentTasks: 1_000_000, monthlyQuota: 1_000_000, requestsPerMinute: 1_000_000 },
})

type Accepted = { readonly id: string; readonly sentAt: number; readonly at: number }

export type Load = {
  readonly accepted: readonly Accepted[]
  /** Answers other than success, with their number. */
  readonly others: ReadonlyMap<string, number>
  /** Waits for a creation that was sent after this call; returns the time until its response in milliseconds. */
  untilAccepted(what: string): Promise<number>
  /** Number of answers other than success. */
  refused(): number
  /** Waits for this many more. */
  untilMore(count: number): Promise<void>
  /** Ends the load; every accepted task has succeeded then. */
  end(): Promise<void>
  /** Ends it without waiting for success, after a failure. */
  abandon(): Promise<void>
  /**
   * Database and webhooks agree with the log, and every answer but a success was one after which a caller may repeat
   * the call. `also`: answers of a test that stops the API; `now`: the database, if it moved.
   */
  expectAgreement(options?: { also?: readonly string[]; now?: Db }): Promise<void>
}

type LoadOptions = {
  readonly db: Db
  readonly origin: () => string
  readonly receiver: Receiver
  readonly lanes?: number
}

const aBoundAgainstHanging = { timeoutMs: 240_000 }

/** Each lane creates a task, reads it until it has succeeded, and creates the next. */
export async function startLoad({ db, origin, receiver, lanes = 8 }: LoadOptions): Promise<Load> {
  const { id: workspaceId } = await givenWorkspace(db, { plan: 'pro', credits: 0 })
  await grantCredits(db, { workspaceId, kind: 'test', amount: credits })
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'load', scopes, expiresAt: null })
  await writeSetting(db, 'webhooks.allowedTargets', [receiver.target])
  const imageUrl = await createClient(origin(), key.key).upload(onePixelPng)

  const accepted: Accepted[] = []
  const others = new Map<string, number>()
  let [stopped, abandoned] = [false, false]

  /** The data of a success; anything else is counted. */
  async function call<T>(method: string, path: string, more: RequestInit = {}): Promise<T | undefined> {
    const { kind, data } = await send<T>(`${origin()}/api/v1/open/developer${path}`, {
      method,
      ...more,
      headers: { 'x-api-key': key.key, ...(more.headers as Record<string, string>) },
    })
    if (data === undefined) others.set(kind, (others.get(kind) ?? 0) + 1)
    return data
  }

  async function create(): Promise<string | undefined> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const body = JSON.stringify({ imageUrl, callbackUrl: receiver.url })
    const one = await until(
      'the creation is accepted',
      async () => {
        const sentAt = performance.now()
        if (abandoned) return 'abandoned'
        const task = await call<{ id: string }>('POST', '/tasks', { headers, body })
        return task && { id: task.id, sentAt, at: performance.now() }
      },
      aBoundAgainstHanging,
    )
    if (one === 'abandoned') return undefined
    accepted.push(one)
    return one.id
  }
  const isDone = async (id: string): Promise<boolean> => {
    if (abandoned) return true
    const task = await call<{ status: string; failure: unknown }>('GET', `/tasks/${id}`)
    return task?.status === 'succeeded' || task?.status === 'failed' // the agreement rejects failures
  }
  async function lane(): Promise<void> {
    while (!stopped) {
      const id = await create()
      if (id === undefined) return
      await until(`task ${id} has ended`, () => isDone(id), { ...aBoundAgainstHanging, everyMs: 200 })
    }
  }
  const running = Promise.all(Array.from({ length: lanes }, lane))
  running.catch(() => undefined) // reported by `end`

  return {
    accepted,
    others,
    untilAccepted: async (what) => {
      const since = performance.now()
      const one = await until(what, () => accepted.find(({ sentAt }) => sentAt >= since), aBoundAgainstHanging)
      return one.at - since
    },
    untilMore: async (count) => {
      const enough = accepted.length + count
      await until(`${count} more tasks are accepted`, () => accepted.length >= enough, aBoundAgainstHanging)
    },
    end: async () => {
      stopped = true
      await running
    },
    abandon: async () => {
      abandoned = true
      stopped = true
      await running.catch(() => undefined)
    },
    refused: () => [...others.values()].reduce((sum, count) => sum + count, 0),
    expectAgreement: async ({ also = [], now = db } = {}) => {
      process.stdout.write(`${accepted.length} accepted; also ${JSON.stringify(Object.fromEntries(others))}\n`)
      for (const kind of others.keys()) expect([...retryable, ...also]).toContain(kind)
      const ids = accepted.map(({ id }) => id).sort()
      await expectRows(now, workspaceId, ids)
      await expectWebhooks(receiver, ids)
    },
  }
}

/** Documented answers after which a caller repeats the call. */
const retryable = [
  '500 SYSTEM_INTERNAL_ERROR with Retry-After',
  '429 RATE_LIMIT_EXCEEDED capacity with Retry-After',
  '409 CONFLICT with Retry-After',
]

type Failure = { error: { code: string; details: Record<string, unknown> } }

async function send<T>(url: string, init: RequestInit): Promise<{ kind: string; data?: T }> {
  const signal = AbortSignal.timeout(60_000) // a bound against hanging
  const response = await fetch(url, { ...init, signal }).catch(() => undefined)
  const body = await response?.json().catch(() => undefined)
  if (response === undefined || body === undefined) return { kind: 'no answer' }
  if (response.ok) return { kind: 'success', data: (body as { data: T }).data }
  const { code, details } = (body as Failure).error
  const limit = code === 'RATE_LIMIT_EXCEEDED' ? ` ${String(details.limit)}` : ''
  const retry = Number(response.headers.get('retry-after')) >= 1 ? ' with Retry-After' : ''
  return { kind: `${response.status} ${code}${limit}${retry}` }
}

async function expectRows(db: Db, workspaceId: string, ids: readonly string[]): Promise<void> {
  const count = ids.length
  expect(new Set(ids).size).toBe(count)
  const tasks = await db.selectFrom('task').select(['id', 'status']).where('workspace_id', '=', workspaceId).execute()
  expect(tasks.map(({ id }) => id).sort()).toEqual(ids)
  expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['succeeded']))
  const holds = await db
    .selectFrom('credit_hold')
    .select(['task_id', 'amount', 'state'])
    .where('task_id', 'in', sql<string>`(select id from task where workspace_id = ${workspaceId})`)
    .execute()
  expect(holds.map(({ task_id }) => task_id).sort()).toEqual(ids)
  expect(new Set(holds.map(({ amount, state }) => `${amount} ${state}`))).toEqual(new Set(['1 captured']))
  const { rows } = await sql`
    select (select quota_used from workspace where id = ${workspaceId}) as quota,
           (select sum(succeeded)::int from usage_day where workspace_id = ${workspaceId}) as usage,
           (select available from credit_lot where workspace_id = ${workspaceId}) as available,
           (select held from credit_lot where workspace_id = ${workspaceId}) as held,
           (select spent from credit_lot where workspace_id = ${workspaceId}) as spent`.execute(db)
  expect(rows).toEqual([{ quota: count, usage: count, available: credits - count, held: 0, spent: count }])
  expect(await findBrokenRules(db)).toEqual({})
}

/** Each task has one event; a delivery may arrive again under its id. */
async function expectWebhooks(receiver: Receiver, ids: readonly string[]): Promise<void> {
  const seen = (): Map<string, Set<string>> => {
    const events = new Map<string, Set<string>>()
    for (const { bytes, headers } of receiver.received) {
      const { event, task_id } = JSON.parse(bytes.toString()) as { event: string; task_id: string }
      const known = events.get(task_id) ?? new Set()
      events.set(task_id, known.add(`${event} ${headers['webhook-id']}`))
    }
    return events
  }
  await until('every task was announced', () => seen().size >= ids.length, aBoundAgainstHanging)
  expect([...seen().keys()].sort()).toEqual(ids)
  expect([...seen()].filter(([, events]) => events.size !== 1)).toEqual([])
}

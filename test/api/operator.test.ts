// Operations of operators over rows as the operator, the workers and callers leave them.

import { replaceModels } from '@matte/core/model/model-queries'
import { recordPool } from '@matte/core/pool/record-pool'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { admin } from '../support/admin.ts'
import { poolRecordOf } from '../support/pool-records.ts'
import { until } from '../support/until.ts'
import { smallImage, succeed, useApi } from './given.ts'

const operatorToken = 'test-operator-token-with-more-than-32-random-bytes'
const world = useApi({ OPERATOR_TOKEN: operatorToken })

type Item = Readonly<Record<string, unknown>>
type Page = { readonly items: readonly Item[]; readonly total: number; readonly nextCursor: string | null }

async function get<Data = Item>(path: string): Promise<Data> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${world.api.url}/api/v1/operator${path}`, { headers })
  const { data, error } = (await response.json()) as { data: Data; error?: { code: string } }
  if (error !== undefined) throw Object.assign(new Error(error.code), { status: response.status, code: error.code })
  return data
}
const itemsOf = async (path: string) => (await get<Page>(path)).items
const record = (...[more, report, ageSeconds = 0]: [...Parameters<typeof poolRecordOf>, number?]) =>
  recordPool(world.db, poolRecordOf(more, report), ageSeconds)

describe('pools', () => {
  const pool = async (name: string) => (await itemsOf('/pools')).find((each) => each.name === name)

  it('have the numbers and the sentence of the last report', async () => {
    await record({ pool: 'shown' }, { sentence: '2 pods: because.' })
    expect(await pool('shown')).toMatchObject({
      ...{
        namespace: 'matte',
        source: 'operator',
        state: 'ready',
        models: ['service-v2'],
        sentence: '2 pods: because.',
      },
      ...{ wanted: 2, ready: 2, queue: 3, inFlight: 4, numbers: { rate: 4.2, wantedPods: 2 }, runbook: null },
    })
  })

  it.each([
    ['degraded', { state: 'degraded' }, 0, 'degraded', 'MattePoolDegraded'],
    ['busy', { wanted: 6, queue: 30 }, 0, 'ready', 'MattePoolAtMax'],
    ['closed', { state: 'closed' }, 600, 'closed', 'MattePoolClosed'],
    ['unled', { state: 'ready' }, 600, 'stale', 'MatteNoLeader'],
  ] as const)('that are %s name the page that says what to do', async (name, report, age, state, runbook) => {
    await record({ pool: name }, report, age)
    expect(await pool(name)).toMatchObject({ state, runbook })
  })

  it('of MODELS_STATIC have the demand on their models, and no made-up pods', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const model = { name: 'service-v2', pool: 'static', tritonModel: 'u2netp', isDefault: true }
    await replaceModels(world.db, [model])
    await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    expect(await pool('static')).toMatchObject({
      ...{ namespace: null, source: 'workers', state: 'unreported', models: ['service-v2'], queue: 1, processing: 0 },
      ...{ wanted: null, ready: null, inFlight: null, reportedAt: null },
      sentence: expect.stringContaining('MODELS_STATIC'),
    })
    await record({ pool: 'static' })
    expect(await pool('static')).toMatchObject({ source: 'operator' })
  })

  it('have samples over time, in wider steps for longer periods', async () => {
    const of = { pool: 'charted' }
    for (const [age, wanted, ready] of [
      [90 * 60, 9, 9],
      [60, 2, 1],
      [30, 3, 2],
      [0, 3, 3],
    ] as const)
      await record(of, { wanted, ready }, age)
    type Samples = { readonly stepSeconds: number; readonly samples: readonly Item[] }
    const hour = await get<Samples>('/pools/matte/charted/samples')
    expect(hour.stepSeconds).toBe(15)
    expect(hour.samples.map(({ wanted, ready }) => [wanted, ready])).toEqual([
      [2, 1],
      [3, 2],
      [3, 3],
    ])
    const day = await get<Samples>('/pools/matte/charted/samples?minutes=1440')
    expect(day.stepSeconds).toBe(180)
    expect(Math.max(...day.samples.map(({ wanted }) => Number(wanted)))).toBe(9)
    await expect(get('/pools/matte/charted/samples?minutes=1441')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(get('/pools/matte/none/samples')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })
})

describe('decisions', () => {
  it('of a pool come page by page, newest first, with their numbers', async () => {
    for (let to = 2; to <= 6; to++) await record({ pool: 'paged', decidedFrom: to - 1 }, { wanted: to }, 60 - to)
    await record({ pool: 'paged', decidedFrom: 6 }, { wanted: 6, rule: 'maximum' })
    const path = '/pools/matte/paged/decisions?pageSize=4'
    const first = await get<Page>(path)
    expect(first.items.map(({ kind, from, to, runbook }) => [kind, from, to, runbook])).toEqual([
      ['hold', 6, 6, 'MattePoolAtMax'],
      ['change', 5, 6, null],
      ['change', 4, 5, null],
      ['change', 3, 4, null],
    ])
    expect(first.items[0]).toMatchObject({ pool: 'paged', rule: 'maximum', numbers: { rate: 4.2, wantedPods: 2 } })
    const second = await get<Page>(`${path}&cursor=${first.nextCursor}`)
    expect(second.items.map(({ to }) => to)).toEqual([3, 2])
    expect([first.total, second.nextCursor]).toEqual([6, null])
    await expect(get('/pools/other/paged/decisions')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('of all pools come together', async () => {
    await record({ pool: 'one', decidedFrom: 1 })
    await record({ pool: 'two', decidedFrom: 1 })
    expect((await itemsOf('/decisions?pageSize=2')).map(({ pool }) => pool)).toEqual(['two', 'one'])
  })
})

describe('rollouts', () => {
  const gates = [
    { gate: 'errorRate', verdict: 'failed', observed: 0.2, limit: 0.02, sentence: '10 of 50 failed.' },
  ] as const
  const step = { revision: 'r2', stable: 'r1', event: 'RolloutStarted', step: -1, weight: 0, sentence: 's', gates: [] }

  it('have their steps with gates, and how they ended', async () => {
    await record({ pool: 'canary', step }, {}, 30)
    await record({ pool: 'canary', step: { ...step, event: 'RolloutStep', step: 0, weight: 10 } }, {}, 20)
    await record({ pool: 'canary', step: { ...step, event: 'RolloutRolledBack', step: 0, weight: 10, gates } }, {}, 10)
    await record({ pool: 'canary', step: { ...step, revision: 'r3' } })
    const live = {
      ...{ stable: 'r1', canary: 'r3', step: -1, steps: 2, weight: 0, waitingFor: 'Room', sentence: 'no node' },
      gates: [],
    }
    await record({ pool: 'canary' }, { state: 'rollingOut', rollout: live })
    const [now, before] = (await itemsOf('/rollouts')).filter(({ pool }) => pool === 'canary')
    expect(now).toMatchObject({ revision: 'r3', outcome: 'inProgress', endedAt: null, live, runbook: null })
    expect(before).toMatchObject({
      ...{ revision: 'r2', stable: 'r1', outcome: 'rolledBack', live: null, runbook: 'MattePoolRolledBack' },
      steps: [
        { event: 'RolloutStarted', gates: [] },
        { event: 'RolloutStep', weight: 10 },
        { event: 'RolloutRolledBack', gates },
      ],
    })
  })
})

describe('the installation', () => {
  let workspaceId: string
  beforeAll(async () => {
    const caller = await world.caller({ plan: 'internal' })
    workspaceId = caller.workspaceId
    const imageUrl = await caller.client.upload(await smallImage())
    const done = await caller.client.createTask({ imageUrl })
    await succeed(world.db, done.id)
    for (let waiting = 0; waiting < 3; waiting++) await caller.client.createTask({ imageUrl })
  })

  it('lists workspaces by load', async () => {
    const found = await itemsOf('/workspaces')
    expect(found.find(({ id }) => id === workspaceId)).toMatchObject({
      ...{ plan: 'internal', queued: 3, processing: 0, tasksLastHour: 1, failedLastHour: 0 },
    })
    const open = found.map(({ queued, processing }) => Number(queued) + Number(processing))
    expect(open).toEqual(open.toSorted((a, b) => b - a))
    expect(await itemsOf('/workspaces?limit=1')).toHaveLength(1)
  })

  it('lists failing endpoints without their URLs', async () => {
    const { client, workspaceId: owner } = await world.caller()
    const targetUrl = 'https://93.184.216.34/secret-path'
    const { id } = (await client.call<{ id: string }>('POST', '/webhooks', { body: { targetUrl } })).data
    await sql`update webhook_endpoint set failing_since = now(), failed_at = now() where id = ${id}`.execute(world.db)
    const endpoints = await until('the endpoint is listed', async () => {
      const items = await itemsOf('/endpoints/failing')
      return items.length > 0 && items
    })
    expect(endpoints).toMatchObject([
      { id, workspaceId: owner, targetHost: '93.184.216.34:443', runbook: 'MatteWebhooksFailing' },
    ])
    expect(JSON.stringify(endpoints)).not.toContain('secret-path')
  })

  it('lists overdue work first, each with its page', async () => {
    await sql`insert into object_deletion (object_key, due_at) values ('results/late', now() - interval '7 hours')`.execute(
      world.db,
    )
    const items = await until('the deletion is late', async () => {
      const found = await itemsOf('/overdue')
      return found[0]?.isLate === true && found
    })
    expect(items[0]).toMatchObject({ what: 'objectRetention', lateAfterSeconds: 21_600, runbook: 'MatteRetentionLate' })
    expect(items.find(({ what }) => what === 'tasks')).toMatchObject({ waiting: 3, isLate: false })
    expect(items).toHaveLength(12)
  })

  it('has an overview', async () => {
    await admin(['setting', 'set', 'dispatchPaused', 'on'], { DATABASE_URL: world.databaseUrl })
    const overview = await until('the switch is shown', async () => {
      const found = await get('/overview')
      return found.dispatchPaused === true && found
    })
    expect(overview).toMatchObject({
      ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+/), maintenance: false, accountsEnabled: true, inFlight: 1 },
      ...{ queued: 3, overdue: 1, failingEndpoints: 1, throughput: { succeededPerMinute: 0.2, failedPerMinute: 0 } },
      pools: { total: expect.any(Number), attention: expect.any(Number) },
    })
  })

  it('checks its invariants and names the rows that break one', async () => {
    await sql`update workspace set queued = 9, open_singles = 9 where id = ${workspaceId}`.execute(world.db)
    const { items } = await get<{ items: readonly Item[] }>('/invariants')
    expect(items.find(({ invariant }) => invariant === 'task_counts')).toMatchObject({
      ...{ ok: false, violations: 1, ids: [workspaceId], runbook: 'MatteInvariantBroken' },
    })
    expect(items.find(({ invariant }) => invariant === 'charged_twice')).toMatchObject({
      ...{ ok: true, violations: 0, ids: [], runbook: null },
    })
    expect((await get('/overview')).brokenInvariants).toBe(1)
  })
})

// Redelivery of everything that failed since a given time.
import { randomUUID } from 'node:crypto'
import { changeEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

const rowOf = (id: string) => world.db.selectFrom('delivery').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

type Recovery = { readonly count: number; readonly more: boolean; readonly dryRun: boolean; readonly since: string }

describe.each(surfaces)('POST /webhooks/{id}/recover on the surface %s', (surface) => {
  const long = '2026-01-01T00:00:00Z'
  const recover = async ({ call }: Keeper, id: string, body: Record<string, unknown>) =>
    (await call<Recovery>('POST', `/webhooks/${id}/recover`, { body })).data

  /** Deliveries of one endpoint in each state; the latest attempts of failed ones ended an hour ago. */
  async function givenStates(keeper: Keeper) {
    const { id: endpointId } = await world.endpoint(keeper.workspaceId)
    for (let n = 0; n < 6; n++) await world.announce(keeper.workspaceId)
    const rows = await world.db.selectFrom('delivery').select('id').where('endpoint_id', '=', endpointId).execute()
    const [delivered, exhausted, waiting, canceled, due, claimed] = rows.map(({ id }) => id) as [
      ...[string, string, string, string, string, string],
    ]
    const put = (id: string, columns: Record<string, unknown>) =>
      world.db.updateTable('delivery').set(columns).where('id', '=', id).execute()
    const hourAgo = sql`now() - interval '1 hour'`
    const attempted = async (id: string) => {
      const { duration_ms } = { duration_ms: 1 }
      const values = {
        delivery_id: id,
        attempt: 1,
        duration_ms,
        error: 'STATUS',
        at: sql<Date>`now() - interval '1 hour'`,
      }
      await world.db.insertInto('delivery_attempt').values(values).execute()
    }
    await put(delivered, { status: 'delivered', completed_at: hourAgo, attempt: 1 })
    await put(exhausted, { status: 'exhausted', completed_at: hourAgo, attempt: 1 })
    await put(waiting, { attempt: 1, due_at: sql`now() + interval '1 hour'` })
    await put(canceled, { status: 'canceled', completed_at: hourAgo })
    await put(claimed, { attempt: 1, claim: randomUUID(), claimed_until: sql`now() + interval '1 hour'` })
    for (const id of [delivered, exhausted, waiting]) await attempted(id)
    return { endpointId, delivered, exhausted, waiting, canceled, due, claimed }
  }

  it('redelivers exhausted and retrying deliveries, and no others', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId, exhausted, waiting, ...others } = await givenStates(keeper)
    const before = await Promise.all(Object.values(others).map(rowOf))
    const dry = await recover(keeper, endpointId, { since: long, dryRun: true })
    expect(dry).toEqual({ since: '2026-01-01T00:00:00.000Z', until: null, dryRun: true, count: 2, more: false })
    expect(await rowOf(exhausted)).toMatchObject({ status: 'exhausted' })
    expect(await recover(keeper, endpointId, { since: long })).toMatchObject({ dryRun: false, count: 2, more: false })
    for (const id of [exhausted, waiting]) {
      const { due_at, ...row } = await rowOf(id)
      expect(row).toMatchObject({ status: 'pending', attempt: 1, attempts_before: 1, completed_at: null, claim: null })
      expect(due_at.getTime()).toBeLessThan(Date.now() + 60_000)
    }
    expect(await Promise.all(Object.values(others).map(rowOf))).toEqual(before)
    expect(await recover(keeper, endpointId, { since: long })).toMatchObject({ count: 0 })
  })

  it('compares with the end of the latest attempt', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId } = await givenStates(keeper)
    const { rows } = await sql<{ later: Date; earlier: Date }>`
      select now() - interval '59 minutes' as later, now() - interval '61 minutes' as earlier`.execute(world.db)
    const { later, earlier } = rows[0] ?? { later: new Date(), earlier: new Date() }
    expect((await recover(keeper, endpointId, { since: later.toISOString(), dryRun: true })).count).toBe(0)
    expect((await recover(keeper, endpointId, { since: earlier.toISOString(), dryRun: true })).count).toBe(2)
  })

  it('selects by the end of the time range, status and event, in a dry run and in earnest', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId, exhausted, waiting } = await givenStates(keeper)
    const { rows } = await sql<{ at: Date }>`select now() - interval '61 minutes' as at`.execute(world.db)
    const until = (rows[0]?.at ?? new Date()).toISOString()
    const count = async (body: object) =>
      (await recover(keeper, endpointId, { since: long, dryRun: true, ...body })).count
    expect(await count({ until })).toBe(0)
    expect(await count({ until: '2999-01-01' })).toBe(2)
    expect(await count({ statuses: ['exhausted'] })).toBe(1)
    expect(await count({ statuses: ['pending', 'pending'] })).toBe(1)
    expect(await count({ statuses: ['paused'] })).toBe(0)
    expect(await count({ eventTypes: ['task.*', 'payment.failed'] })).toBe(0)
    expect(await count({ eventTypes: ['welcome'] })).toBe(2)
    expect(await count({ eventTypes: [] })).toBe(2)
    const answer = await recover(keeper, endpointId, { since: long, until: '2999-01-01', statuses: ['exhausted'] })
    expect(answer).toMatchObject({ count: 1, until: '2999-01-02T00:00:00.000Z' })
    expect([(await rowOf(exhausted)).attempts_before, (await rowOf(waiting)).attempts_before]).toEqual([1, 0])
  })

  it('sends no sample again', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId, exhausted } = await givenStates(keeper)
    await world.db.updateTable('delivery').set({ sample: true }).where('id', '=', exhausted).execute()
    expect(await recover(keeper, endpointId, { since: long })).toMatchObject({ count: 1 })
    expect(await rowOf(exhausted)).toMatchObject({ status: 'exhausted' })
  })

  it.each([
    ['an end that is no time', { until: 'tomorrow' }, '/body/until'],
    ['an end before the start', { until: '2025-12-31' }, '/body/until'],
    ['an unknown event', { eventTypes: ['task.done'] }, '/body/eventTypes/0'],
    ['a status that cannot be sent again', { statuses: ['canceled'] }, '/body/statuses/0'],
    ['no status', { statuses: [] }, '/body/statuses'],
  ])('rejects %s', async (_what, body, path) => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path }] } }
    await expect(recover(keeper, id, { since: long, ...body })).rejects.toMatchObject(refused)
  })

  it('handles many in parts, each once, with concurrent requests', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await sql`
      insert into delivery (workspace_id, event, endpoint_id, target_url, target_host, body, status, attempt,
                            completed_at)
      select ${keeper.workspaceId}::uuid, 'welcome', ${id}::uuid, 'x', 'x', '{}', 'exhausted', 13, now()
        from generate_series(1, 1200)`.execute(world.db)
    const answers = await Promise.all(Array.from({ length: 3 }, () => recover(keeper, id, { since: long })))
    expect(answers.reduce((sum, { count }) => sum + count, 0)).toBe(1_200)
    const { rows } = await sql`
      select status, attempts_before, target_host, count(*) as count from delivery where endpoint_id = ${id}
       group by 1, 2, 3`.execute(world.db)
    expect(rows).toEqual([{ status: 'pending', attempts_before: 13, target_host: '93.184.216.34:443', count: 1_200 }])
    await world.db.deleteFrom('delivery').where('endpoint_id', '=', id).execute()
  })

  it('stops at 10,000 and reports that there are more', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await sql`
      insert into delivery (workspace_id, event, endpoint_id, target_url, target_host, body, status, completed_at)
      select ${keeper.workspaceId}::uuid, 'welcome', ${id}::uuid, 'x', 'x', '{}', 'exhausted', now()
        from generate_series(1, 10001)`.execute(world.db)
    expect(await recover(keeper, id, { since: long, dryRun: true })).toMatchObject({ count: 10_000, more: true })
    expect(await recover(keeper, id, { since: long })).toMatchObject({ count: 10_000, more: true })
    expect(await recover(keeper, id, { since: long })).toMatchObject({ count: 1, more: false })
    await world.db.deleteFrom('delivery').where('endpoint_id', '=', id).execute()
  })

  it('is rejected for a disabled endpoint, without a time, and for another workspace’s endpoint', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id } = await world.endpoint(workspaceId)
    for (const body of [{}, { since: 'yesterday' }, { since: 5 }]) {
      const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/since' }] } }
      await expect(recover(keeper, id, body)).rejects.toMatchObject(refused)
    }
    await changeEndpoint(world.db, { workspaceId, id }, { status: 'disabled' })
    await expect(recover(keeper, id, { since: long })).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const stranger = await world.keeper(surface)
    for (const unknown of [id, 'nope']) {
      await expect(recover(stranger, unknown, {})).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
  })
})

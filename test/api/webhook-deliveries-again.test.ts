// Sending again, one delivery or all that failed: what it does to each state, and that it has exactly one effect beside
// claims, attempts and its own repetitions.
import { randomUUID } from 'node:crypto'
import type { AttemptError } from '@matte/core/webhook/attempt-outcome'
import { type ClaimedDelivery, claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { changeEndpoint, deleteEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claimOptions } from '../dispatcher/given.ts'
import { givenTask } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { type Delivery, type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

const policy = { maxRetries: 1, retryUnitMs: 60_000 }
const record = (claimed: ClaimedDelivery, error: AttemptError | null) =>
  recordAttempt(world.db, claimed, {
    ...{ error, statusCode: null, durationMs: 1, responseBody: null, endedAgoMs: 0, policy },
  })

async function claimOf(id: string): Promise<ClaimedDelivery> {
  const claimed = await claimDueDeliveries(world.db, { ...claimOptions, limit: 1_000 })
  const own = claimed.find((each) => each.id === id)
  if (own === undefined) throw new Error('the delivery is not to be had')
  return own
}

const rowOf = (id: string) => world.db.selectFrom('delivery').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const makeDue = (id: string) =>
  world.db.updateTable('delivery').set({ due_at: sql`now()` }).where('id', '=', id).execute()

/** A delivery of an endpoint, attempted with these outcomes; the second failure exhausts it. */
async function given(keeper: Keeper, outcomes: readonly (AttemptError | null)[]) {
  const { id: endpointId } = await world.endpoint(keeper.workspaceId)
  await world.announce(keeper.workspaceId)
  const { id } = await world.db
    .selectFrom('delivery')
    .select('id')
    .where('endpoint_id', '=', endpointId)
    .executeTakeFirstOrThrow()
  for (const outcome of outcomes) {
    await makeDue(id)
    await record(await claimOf(id), outcome)
  }
  return { id, endpointId }
}

const redeliver = async ({ call }: Keeper, id: string) =>
  (await call<Delivery>('POST', `/webhooks/deliveries/${id}/redeliver`)).data

describe.each(surfaces)('POST /webhooks/deliveries/{id}/redeliver on the surface %s', (surface) => {
  it.each([
    ['delivered', [null]],
    ['exhausted', ['TIMEOUT', 'TIMEOUT']],
    ['waiting for a retry', ['TIMEOUT']],
  ] as const)(
    'makes one that is %s due now, at the start of the schedule, with its id and body',
    async (_was, before) => {
      const keeper = await world.keeper(surface)
      const { id } = await given(keeper, before)
      const { body } = await rowOf(id)
      const answer = await redeliver(keeper, id)
      expect(answer).toMatchObject({ id, status: 'pending', requestBody: body, attemptCount: before.length })
      expect(answer.attempts).toHaveLength(before.length)
      const attempt = await claimOf(id)
      expect(attempt).toMatchObject({ attempt: before.length + 1, scheduledAttempt: 1, body })
      // One retry, as after a first attempt; then it is exhausted again.
      expect(await record(attempt, 'STATUS')).toBe('pending')
      await makeDue(id)
      expect(await record(await claimOf(id), 'STATUS')).toBe('exhausted')
    },
  )

  it('arrives', async () => {
    const receiver = await world.receiver()
    await world.dispatcher()
    const keeper = await world.keeper(surface)
    const { id: endpointId } = await world.endpoint(keeper.workspaceId, receiver.url)
    await world.announce(keeper.workspaceId)
    const delivered = (count: number) =>
      until(`it is delivered, ${count}`, async () => {
        const row = await world.db
          .selectFrom('delivery')
          .selectAll()
          .where('endpoint_id', '=', endpointId)
          .executeTakeFirst()
        return row?.status === 'delivered' && row.attempt === count && row
      })
    const { id } = await delivered(1)
    await redeliver(keeper, id)
    await delivered(2)
    const [first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(receiver.received).toHaveLength(2)
  })

  it('goes where the endpoint is now', async () => {
    const keeper = await world.keeper(surface)
    const { id, endpointId } = await given(keeper, [null])
    const url = 'https://93.184.216.35:8443/moved'
    await changeEndpoint(
      world.db,
      { workspaceId: keeper.workspaceId, id: endpointId },
      { target: { targetUrl: url, url: new URL(url) } },
    )
    await redeliver(keeper, id)
    expect(await rowOf(id)).toMatchObject({ target_url: url, target_host: '93.184.216.35:8443' })
  })

  it('repeated before the attempt has begun it changes nothing', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await given(keeper, [null])
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeliver(keeper, id)))
    expect(answers.every(({ status }) => status === 'pending')).toBe(true)
    expect(await rowOf(id)).toMatchObject({ attempt: 1, attempts_before: 1, claim: null })
    await record(await claimOf(id), null)
    await expect(claimOf(id)).rejects.toThrow('not to be had')
  })

  it('is refused while an attempt is being made, which is then recorded', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await given(keeper, ['TIMEOUT'])
    await makeDue(id)
    const claimed = await claimOf(id)
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    expect(await record(claimed, null)).toBe('delivered')
  })

  it('is refused for what is canceled or whose endpoint is disabled, and unknown once that is deleted', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id, endpointId } = await given(keeper, [null])
    const waiting = await given(keeper, ['TIMEOUT'])
    for (const each of [endpointId, waiting.endpointId])
      await changeEndpoint(world.db, { workspaceId, id: each }, { status: 'disabled' })
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await changeEndpoint(world.db, { workspaceId, id: waiting.endpointId }, { status: 'enabled' })
    const canceled = { status: 409, code: 'CONFLICT', details: { status: 'canceled' } }
    await expect(redeliver(keeper, waiting.id)).rejects.toMatchObject(canceled)
    await deleteEndpoint(world.db, workspaceId, endpointId)
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })

  it('announces no failure that a retry of the task has overtaken', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id } = await given(keeper, ['TIMEOUT', 'TIMEOUT'])
    const task = await givenTask(world.db, { id: workspaceId, plan: planNamed(defaultPlans, 'internal') })
    await world.db
      .updateTable('delivery')
      .set({ event: 'task.failed', task_id: task.id, run: 1, event_key: null })
      .where('id', '=', id)
      .execute()
    await world.db.updateTable('task').set({ run: 2 }).where('id', '=', task.id).execute()
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await world.db.updateTable('task').set({ run: 1 }).where('id', '=', task.id).execute()
    expect(await redeliver(keeper, id)).toMatchObject({ status: 'pending' })
  })

  it('is nobody else’s', async () => {
    const { id } = await given(await world.keeper(surface), [null])
    const stranger = await world.keeper(surface)
    for (const unknown of [id, randomUUID(), 'nope']) {
      await expect(redeliver(stranger, unknown)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
    expect(await rowOf(id)).toMatchObject({ status: 'delivered' })
  })
})

describe('a redelivery beside the dispatcher', () => {
  const outcomeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done' as const,
      ({ code }: { code: string }) => code,
    )

  it('and a claim: one of them comes first, and one attempt follows', async () => {
    const keeper = await world.keeper('developer')
    for (let round = 0; round < 20; round++) {
      const { id } = await given(keeper, ['TIMEOUT'])
      await makeDue(id)
      const [answer, claimed] = await Promise.all([
        outcomeOf(redeliver(keeper, id)),
        claimDueDeliveries(world.db, claimOptions),
      ])
      const own = claimed.find((each) => each.id === id) ?? (await claimOf(id))
      expect(own.attempt).toBe(2)
      // Refused means that the claim was first, and it then goes on in its own schedule.
      expect(['done', 'CONFLICT']).toContain(answer)
      expect(own.scheduledAttempt).toBe(answer === 'done' ? 1 : 2)
      expect(await record(own, null)).toBe('delivered')
      await expect(claimOf(id)).rejects.toThrow('not to be had')
    }
  })

  it('and the record of an attempt: the record is never lost, and the redelivery comes after it or not at all', async () => {
    const keeper = await world.keeper('developer')
    for (let round = 0; round < 20; round++) {
      const { id } = await given(keeper, ['TIMEOUT'])
      await makeDue(id)
      const claimed = await claimOf(id)
      const [answer, recorded] = await Promise.all([outcomeOf(redeliver(keeper, id)), record(claimed, null)])
      expect(recorded).toBe('delivered')
      const attempts = await world.db
        .selectFrom('delivery_attempt')
        .select('attempt')
        .where('delivery_id', '=', id)
        .execute()
      expect(attempts).toHaveLength(2)
      expect((await rowOf(id)).status).toBe(answer === 'done' ? 'pending' : 'delivered')
    }
  })
})

type Recovery = { readonly count: number; readonly more: boolean; readonly dryRun: boolean; readonly since: string }

describe.each(surfaces)('POST /webhooks/{id}/recover on the surface %s', (surface) => {
  const long = '2026-01-01T00:00:00Z'
  const recover = async ({ call }: Keeper, id: string, body: Record<string, unknown>) =>
    (await call<Recovery>('POST', `/webhooks/${id}/recover`, { body })).data

  /** Deliveries of one endpoint in each state; the latest attempts of those that failed ended an hour ago. */
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

  it('sends again what is exhausted and what waits for a retry, and leaves the rest', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId, exhausted, waiting, ...others } = await givenStates(keeper)
    const before = await Promise.all(Object.values(others).map(rowOf))
    const dry = await recover(keeper, endpointId, { since: long, dryRun: true })
    expect(dry).toEqual({ since: '2026-01-01T00:00:00.000Z', dryRun: true, count: 2, more: false })
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

  it('goes by the end of the latest attempt', async () => {
    const keeper = await world.keeper(surface)
    const { endpointId } = await givenStates(keeper)
    const { rows } = await sql<{ later: Date; earlier: Date }>`
      select now() - interval '59 minutes' as later, now() - interval '61 minutes' as earlier`.execute(world.db)
    const { later, earlier } = rows[0] ?? { later: new Date(), earlier: new Date() }
    expect((await recover(keeper, endpointId, { since: later.toISOString(), dryRun: true })).count).toBe(0)
    expect((await recover(keeper, endpointId, { since: earlier.toISOString(), dryRun: true })).count).toBe(2)
  })

  it('takes many in parts, each once, whoever asks at the same time', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await sql`
      insert into delivery (workspace_id, event, endpoint_id, target_url, target_host, body, status, attempt, completed_at)
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

  it('stops at 10,000 and says that there are more', async () => {
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

  it('is refused for a disabled endpoint, without a time, and for another workspace’s', async () => {
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

// Redelivery: the effect on each state, and exactly one effect beside claims, attempts and repetitions.
import { randomUUID } from 'node:crypto'
import type { AttemptError } from '@matte/core/webhook/attempt-outcome'
import type { ClaimedDelivery } from '@matte/core/webhook/claim-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { changeEndpoint, deleteEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claimDue } from '../dispatcher/given.ts'
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
  const claimed = await claimDue(world.db, { limit: 1_000 })
  const own = claimed.find((each) => each.id === id)
  if (own === undefined) throw new Error('the delivery is not to be had')
  return own
}

const rowOf = (id: string) => world.db.selectFrom('delivery').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const makeDue = (id: string) =>
  world.db.updateTable('delivery').set({ due_at: sql`now()` }).where('id', '=', id).execute()

/** A delivery of an endpoint with these attempts; the second failure exhausts it. */
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

  it('is delivered', async () => {
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

  it('goes to the current target of the endpoint', async () => {
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

  it('repeated before the attempt has begun changes nothing', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await given(keeper, [null])
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeliver(keeper, id)))
    expect(answers.every(({ status }) => status === 'pending')).toBe(true)
    expect(await rowOf(id)).toMatchObject({ attempt: 1, attempts_before: 1, claim: null })
    await record(await claimOf(id), null)
    await expect(claimOf(id)).rejects.toThrow('not to be had')
  })

  it('is rejected during an attempt, which is then recorded', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await given(keeper, ['TIMEOUT'])
    await makeDue(id)
    const claimed = await claimOf(id)
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    expect(await record(claimed, null)).toBe('delivered')
  })

  it('is rejected for canceled deliveries and disabled endpoints, and not found for deleted ones', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id, endpointId } = await given(keeper, [null])
    const waiting = await given(keeper, ['TIMEOUT'])
    for (const each of [endpointId, waiting.endpointId])
      await changeEndpoint(world.db, { workspaceId, id: each }, { status: 'disabled' })
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await changeEndpoint(world.db, { workspaceId, id: waiting.endpointId }, { status: 'enabled' })
    expect(await redeliver(keeper, waiting.id)).toMatchObject({ status: 'pending' })
    await world.db
      .updateTable('delivery')
      .set({ status: 'canceled', completed_at: sql`now()` })
      .where('id', '=', waiting.id)
      .execute()
    const canceled = { status: 409, code: 'CONFLICT', details: { status: 'canceled' } }
    await expect(redeliver(keeper, waiting.id)).rejects.toMatchObject(canceled)
    await deleteEndpoint(world.db, { workspaceId, id: endpointId })
    await expect(redeliver(keeper, id)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })

  it('announces no failure of a task that was retried since', async () => {
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

  it('is not found in another workspace', async () => {
    const { id } = await given(await world.keeper(surface), [null])
    const stranger = await world.keeper(surface)
    for (const unknown of [id, randomUUID(), 'nope']) {
      await expect(redeliver(stranger, unknown)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
    expect(await rowOf(id)).toMatchObject({ status: 'delivered' })
  })
})

describe('a redelivery with a concurrent dispatcher', () => {
  const outcomeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done' as const,
      ({ code }: { code: string }) => code,
    )

  it('and a claim: one is first, and one attempt follows', async () => {
    for (let round = 0; round < 20; round++) {
      const keeper = await world.keeper('developer')
      const { id } = await given(keeper, ['TIMEOUT'])
      await makeDue(id)
      const [answer, claimed] = await Promise.all([outcomeOf(redeliver(keeper, id)), claimDue(world.db)])
      const own = claimed.find((each) => each.id === id) ?? (await claimOf(id))
      expect(own.attempt).toBe(2)
      // A rejection means that the claim was first, which then continues in its own schedule.
      expect(['done', 'CONFLICT']).toContain(answer)
      expect(own.scheduledAttempt).toBe(answer === 'done' ? 1 : 2)
      expect(await record(own, null)).toBe('delivered')
      await expect(claimOf(id)).rejects.toThrow('not to be had')
    }
  })

  it('and the record of an attempt: the record is never lost, and the redelivery comes after it or not at all', async () => {
    for (let round = 0; round < 20; round++) {
      const keeper = await world.keeper('developer')
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

// GET /app/tasks/stream: changes of a workspace's tasks as they happen.
import { failAttempt } from '@matte/core/task/run/finish-task'
import { describe, expect, it } from 'vitest'
import { claim, succeed, useApi } from '../api/given.ts'
import { givenStream, readEvents } from '../support/app/event-stream.ts'
import { givenPerson, type PersonOptions } from '../support/app/people.ts'
import { givenBatch, givenTask, givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'

const world = useApi()

/** A member of a workspace; its tasks are created without the API. */
async function given(role: NonNullable<PersonOptions['member']>['role'] = 'owner') {
  const workspace = await givenWorkspace(world.db)
  const person = await givenPerson(world.db, world.api, { member: { workspaceId: workspace.id, role } })
  return { workspace, person }
}

const typesOf = (events: readonly { data: Record<string, unknown> }[]) => events.map(({ data }) => data.event_type)

describe('the stream', () => {
  it('reports changes of the workspace’s tasks, in order, and of no other', async () => {
    const { workspace, person } = await given()
    const stream = await givenStream(world.api.url, person.accessToken)
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.headers.get('cache-control')).toBe('no-store')
    const other = await given()
    await succeed(world.db, (await givenTask(world.db, other.workspace)).id)
    const task = await givenTask(world.db, workspace)
    await succeed(world.db, task.id)
    const last = await stream.untilType(task.id, 'succeeded')
    expect(typesOf(stream.events)).toEqual(['queued', 'processing', 'succeeded'])
    expect(last).toMatchObject({
      event: 'task',
      data: { id: last.id, taskId: task.id, batchId: null, event_payload: { run: 1, attempt: 1 } },
    })
    expect(last.data.event_payload).toMatchObject({ duration_ms: expect.any(Number), at: expect.any(String) })
    const { data } = await person.client.call('GET', `/tasks/images/${task.id}/events`)
    expect(
      stream.events.map(({ id, data: { event_type, event_payload } }) => ({ id, event_type, event_payload })),
    ).toEqual(data)
    await stream.close()
  })

  it.each(['admin', 'billing', 'member'] as const)('is open to the role %s', async (role) => {
    const { person } = await given(role)
    const stream = await givenStream(world.api.url, person.accessToken)
    expect(stream.status).toBe(200)
    await stream.close()
  })

  it('names the batch of a child, and reports failed attempts', async () => {
    const { workspace, person } = await given()
    const stream = await givenStream(world.api.url, person.accessToken)
    const { batch, tasks } = await givenBatch(world.db, workspace, { size: 1 })
    const [child] = tasks
    if (child === undefined) throw new Error('no child')
    await failAttempt(world.db, await claim(world.db, child.id), 'STORAGE_ERROR')
    const event = await stream.untilType(child.id, 'attempt_failed')
    expect(event.data).toMatchObject({ batchId: batch.id, event_payload: { reason: 'STORAGE_ERROR', attempt: 1 } })
    await stream.close()
  })

  it('continues behind Last-Event-ID, each event once', async () => {
    const { workspace, person } = await given()
    const first = await givenStream(world.api.url, person.accessToken)
    const task = await givenTask(world.db, workspace)
    await first.untilType(task.id, 'queued')
    await first.close()
    await succeed(world.db, task.id)
    const second = await givenStream(world.api.url, person.accessToken, { lastEventId: first.lastId() })
    await second.untilType(task.id, 'succeeded')
    expect(typesOf([...first.events, ...second.events])).toEqual(['queued', 'processing', 'succeeded'])
    await second.close()
  })

  it('that closed before any event has an id to continue from', async () => {
    const { workspace, person } = await given()
    const first = await givenStream(world.api.url, person.accessToken)
    await first.close()
    const task = await givenTask(world.db, workspace)
    const second = await givenStream(world.api.url, person.accessToken, { lastEventId: first.lastId() })
    await second.untilType(task.id, 'queued')
    await second.close()
  })

  it('begins at the end of a history that is shorter than Last-Event-ID', async () => {
    const { workspace, person } = await given()
    const stream = await givenStream(world.api.url, person.accessToken, { lastEventId: '999999999999999' })
    const task = await givenTask(world.db, workspace)
    await stream.untilType(task.id, 'queued')
    await stream.close()
  })

  it('catches up with a long history in pages, and then follows', async () => {
    const { workspace, person } = await given()
    const { tasks } = await givenBatch(world.db, workspace, { size: 700 })
    const stream = await givenStream(world.api.url, person.accessToken, { lastEventId: '0' })
    const task = await givenTask(world.db, workspace)
    await stream.untilType(task.id, 'queued')
    expect(stream.events.map(({ data }) => data.taskId)).toEqual([...tasks.map(({ id }) => id), task.id])
    const ids = stream.events.map(({ id }) => Number(id))
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
    await stream.close()
  })
})

describe('the stream rejects', () => {
  it('an invalid Last-Event-ID', async () => {
    const { person } = await given()
    const { status } = await readEvents(world.api.url, person.accessToken, { lastEventId: 'abc' })
    expect(status).toBe(400)
  })

  it('a token in the query, and a missing one', async () => {
    const { person } = await given()
    const url = `${world.api.url}/api/v1/app/tasks/stream`
    expect((await fetch(`${url}?access_token=${person.accessToken}&token=${person.accessToken}`)).status).toBe(401)
    expect((await fetch(url)).status).toBe(401)
  })

  it('HEAD, which would open one', async () => {
    const { person } = await given()
    const headers = { authorization: `Bearer ${person.accessToken}` }
    const answer = await fetch(`${world.api.url}/api/v1/app/tasks/stream`, { method: 'HEAD', headers })
    expect(answer.status).toBe(404)
  })
})

describe('the stream ends', () => {
  it('within 5 s of the end of its session', async () => {
    const { person } = await given()
    const stream = await givenStream(world.api.url, person.accessToken)
    await world.db.updateTable('session').set({ ended_at: new Date() }).where('id', '=', person.sessionId).execute()
    await until('the stream has ended', stream.hasEnded, { timeoutMs: 5_000 })
  })

  it('within 5 s of the end of the membership, without later events', async () => {
    const { workspace, person } = await given('member')
    const stream = await givenStream(world.api.url, person.accessToken)
    const stays = await givenPerson(world.db, world.api, { member: { workspaceId: workspace.id, role: 'owner' } })
    const other = await givenStream(world.api.url, stays.accessToken)
    await world.db.deleteFrom('membership').where('user_id', '=', person.userId).execute()
    await until('the stream has ended', stream.hasEnded, { timeoutMs: 5_000 })
    const task = await givenTask(world.db, workspace)
    await other.untilType(task.id, 'queued')
    expect(stream.events).toEqual([])
    await other.close()
  })
})

// Costs and ends of task streams: capacity, slow readers, tokens, process shutdown. Nothing depends on NATS.

import { once } from 'node:events'
import { request } from 'node:http'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { signAccessToken } from '@matte/people/identity/session/access-token'
import { readSigningKeys } from '@matte/people/identity/session/signing-keys'
import { SignJWT } from 'jose'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { type EventReader, givenStream, readEvents } from '../support/app/event-stream.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { claimNext, givenBatch, givenTask, givenWorkspace, ownModel, type TestWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'

/** Capacity of eight, two per workspace; without NATS. */
const world = useApi({
  STREAMS_MAX: '8',
  NATS_URL: 'nats://127.0.0.1:1',
  REQUESTS_IN_WORK_MAX: '4',
  CORS_ALLOWED_ORIGINS: 'https://app.example.com',
})

type Member = { readonly workspace: TestWorkspace; readonly person: Person }

async function given(api: TestApi = world.api): Promise<Member> {
  const workspace = await givenWorkspace(world.db)
  const person = await givenPerson(world.db, api, { member: { workspaceId: workspace.id, role: 'owner' } })
  return { workspace, person }
}

async function metricOf(name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${world.api.healthUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => /^\w+/.exec(each)?.[0] === name && each.includes(label))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

/** Open streams of a test; the next test would miss their capacity. */
const opened: EventReader[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((stream) => stream.close()))
  await until('no stream is open', async () => (await metricOf('matte_task_streams_open')) === 0)
})

async function follow({ accessToken }: Pick<Person, 'accessToken'>, options: Parameters<typeof readEvents>[2] = {}) {
  const stream = await givenStream(world.api.url, accessToken, options)
  opened.push(stream)
  return stream
}

describe('stream capacity', () => {
  it('is a quarter per workspace; one more is 429 with capacity, until one closes', async () => {
    const { person } = await given()
    const first = await follow(person)
    await follow(person)
    const url = `${world.api.url}/api/v1/app/tasks/stream`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${person.accessToken}` } })
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } },
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await metricOf('matte_task_streams_refused_total', 'reason="workspace"')).toBeGreaterThan(0)
    await first.close()
    await until('there is a place again', async () => {
      const stream = await readEvents(world.api.url, person.accessToken)
      opened.push(stream)
      return stream.status === 200
    })
  })

  it('is a quarter per member too, over all of their workspaces', async () => {
    const [{ person }, two, three] = [await given(), await given(), await given()]
    const inWorkspace = async ({ workspace }: Member): Promise<Pick<Person, 'accessToken'>> => {
      const membership = { workspace_id: workspace.id, user_id: person.userId, role: 'member' } as const
      await world.db.insertInto('membership').values(membership).execute()
      const path = `/users/workspaces/${workspace.id}/switch`
      return (await person.client.call<{ accessToken: string }>('POST', path)).data
    }
    const first = await follow(person)
    await follow(await inWorkspace(two))
    const { accessToken } = await inWorkspace(three)
    const before = await metricOf('matte_task_streams_refused_total', 'reason="person"')
    expect((await readEvents(world.api.url, accessToken)).status).toBe(429)
    expect(await metricOf('matte_task_streams_refused_total', 'reason="person"')).toBe(before + 1)
    await follow(three.person)
    await first.close()
    await until('the member has a place again', async () => {
      const stream = await readEvents(world.api.url, accessToken)
      opened.push(stream)
      return stream.status === 200
    })
  })

  it('is bounded per process, and separate from request capacity', async () => {
    const before = await metricOf('matte_task_streams_refused_total', 'reason="replica"')
    const members = await Promise.all(Array.from({ length: 5 }, () => given()))
    const open: EventReader[] = []
    // Eight streams are twice the request capacity.
    for (const { person } of members.slice(0, 4)) for (let i = 0; i < 2; i++) open.push(await follow(person))
    expect(open.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(await metricOf('matte_task_streams_open')).toBe(8)
    expect(await metricOf('matte_http_requests_in_flight')).toBe(0)
    const [last] = members.slice(-1)
    expect((await readEvents(world.api.url, last?.person.accessToken ?? '')).status).toBe(429)
    expect(await metricOf('matte_task_streams_refused_total', 'reason="replica"')).toBe(before + 1)
    expect((await last?.person.client.call('GET', '/tasks/images'))?.status).toBe(200)
  })
})

describe('without NATS', () => {
  it('events still arrive once each, with overlapping writers of one workspace', async () => {
    const { workspace, person } = await given()
    const model = ownModel()
    const stream = await follow(person)
    // One writer has begun and commits late; the others wait for it or belong to other workspaces.
    let making: Promise<unknown> = Promise.resolve()
    await world.db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, workspace.id)
      const late = await givenTask(tx, workspace, { model })
      making = Promise.all([1, 2, 3].map(() => givenTask(world.db, workspace, { model })))
      const other = await given()
      const witness = await follow(other.person)
      const seen = await givenTask(world.db, other.workspace)
      await witness.untilType(seen.id, 'queued')
      await witness.close()
      expect(stream.events.filter(({ data }) => data.taskId === late.id)).toEqual([])
    })
    await making
    const claimed = await claimNext(world.db, [model])
    await stream.untilType(claimed?.id ?? '', 'processing')
    expect(stream.events.map(({ data }) => data.event_type)).toEqual([...Array(4).fill('queued'), 'processing'])
    expect(new Set(stream.events.map(({ id }) => id)).size).toBe(5)
    await stream.close()
  })

  it('a reconnecting client gets each event once, in order, under load', async () => {
    const { workspace, person } = await given()
    const model = ownModel()
    let lastEventId = (await follow(person)).lastId()
    const events: { id: string; type: unknown }[] = []
    const working = (async () => {
      for (let round = 0; round < 8; round++) {
        await Promise.all([1, 2, 3, 4].map(() => givenTask(world.db, workspace, { model })))
        await Promise.all([1, 2].map(() => claimNext(world.db, [model])))
      }
    })()
    while (events.length < 48) {
      const stream = await follow(person, { lastEventId })
      await until('something new came', () => stream.events.length > 0)
      await stream.close()
      events.push(...stream.events.map(({ id, data }) => ({ id, type: data.event_type })))
      lastEventId = stream.lastId()
      await until('its place is free', async () => (await metricOf('matte_task_streams_open')) < 2)
    }
    await working
    const rows = await world.db
      .selectFrom('task_event')
      .select(['id', 'type'])
      .where('workspace_id', '=', workspace.id)
      .orderBy('id')
      .execute()
    expect(events).toEqual(rows.map(({ id, type }) => ({ id: String(id), type })))
  })
})

describe('a stream', () => {
  it('ends with its access token', async () => {
    const { person } = await given()
    const stream = await follow({ accessToken: await briefToken(person) })
    await until('it has ended', stream.hasEnded)
    expect(await metricOf('matte_task_streams_ended_total', 'reason="token"')).toBeGreaterThan(0)
  })

  it('is readable for a page of an allowed origin', async () => {
    const { person } = await given()
    const url = `${world.api.url}/api/v1/app/tasks/stream`
    const origin = 'https://app.example.com'
    const asked = {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,last-event-id',
    }
    const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin, ...asked } })
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      200,
      'authorization,last-event-id',
    ])
    const stream = await follow(person, { headers: { origin } })
    expect(stream.headers.get('access-control-allow-origin')).toBe(origin)
    await stream.close()
  })

  it('with a blocked reader is closed and can be resumed; a silent one gets a comment in time', async () => {
    const { workspace, person } = await given()
    const silent = await given()
    const healthy = await follow(silent.person)
    const { tasks } = await givenBatch(world.db, workspace, { size: 200 })
    // More than the socket buffers of both sides.
    const long = JSON.stringify({ run: 1, message: 'x'.repeat(200_000) })
    const insert = sql`insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, 1, 'attempt_failed', ${long}::jsonb from task where workspace_id = ${workspace.id}`
    await insert.execute(world.db)
    const { incoming, outgoing } = await openUnread(person)
    await until('it is cut off', async () => (await metricOf('matte_task_streams_ended_total', 'reason="slow"')) === 1)
    outgoing.destroy()
    expect(incoming.complete).toBe(false)
    await until('the other has a comment', () => healthy.comments.length > 0)
    expect([healthy.hasEnded(), healthy.events]).toEqual([false, []])
    const resumed = await follow(person, { lastEventId: '0' })
    await until('all has come', () => resumed.events.length === 2 * tasks.length)
  })

  it('ends when the process begins to stop, and no new one begins', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, DRAIN_MS: '60000', STOP_WITHIN_MS: '5000' })
    const { person } = await given(api)
    const stream = await givenStream(api.url, person.accessToken)
    const stopping = api.stop()
    await until('it has ended', stream.hasEnded)
    // Other requests still succeed, and their connections close.
    expect((await person.client.call('GET', '/tasks/images')).headers.get('connection')).toBe('close')
    expect((await readEvents(api.url, person.accessToken)).status).toBe(429)
    await stopping
  })
})

/** The same session, for three seconds. */
async function briefToken({ userId, sessionId, workspaceId }: Person): Promise<string> {
  const [key] = await readSigningKeys(world.db, world.api.config.masterKeys)
  if (key === undefined) throw new Error('no key')
  const token = await signAccessToken([key], world.api.url, { userId, sessionId, workspaceId, role: 'owner' })
  const [, claims = ''] = token.split('.')
  return new SignJWT(JSON.parse(Buffer.from(claims, 'base64url').toString()))
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })
    .setExpirationTime(Math.floor(Date.now() / 1_000) + 3)
    .sign(key.privateKey)
}

/** Opened from the beginning of the history, and never read. */
async function openUnread({ accessToken }: Person) {
  const headers = { authorization: `Bearer ${accessToken}`, 'last-event-id': '0' }
  const outgoing = request(`${world.api.url}/api/v1/app/tasks/stream`, { headers }).end()
  const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage]
  incoming.on('error', () => undefined)
  return { incoming, outgoing }
}

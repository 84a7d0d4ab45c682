// Requests of the doors above the concurrency of their plan, which is two open tasks on Pro.
import { readBalance } from '@matte/core/credit/balance'
import { describe, expect, it } from 'vitest'
import { startApi } from '../support/api.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { until } from '../support/until.ts'
import { codeOf, countTasks, countUnusedUploads, formOf } from './doors.ts'
import { type Caller, givenCaller, smallImage, succeed, useApi } from './given.ts'

// Without a worker, tasks stay queued; a task of these tests ends when the test says so.
const world = useApi({ TASKS_MAX_WAIT: '50' })
const mb = 1_048_576

const send = async ({ apiKey }: Pick<Caller, 'apiKey'>, options: { bytes?: Buffer; url?: string } = {}) =>
  fetch(`${options.url ?? world.api.url}/v1.0/removebg`, {
    method: 'POST',
    headers: { 'X-Api-Key': apiKey },
    body: formOf({}, { name: 'image_file', bytes: options.bytes ?? (await smallImage()) }),
  })

/** A caller on Pro without a free slot, and its two open tasks. */
async function givenBusy(api = world.api) {
  const caller = await givenCaller(world.db, api, { credits: 20 })
  const open: string[] = []
  while (open.length < 2) {
    const { id } = await caller.client.createTask({ imageUrl: await caller.client.upload(await smallImage()) })
    open.push(id)
  }
  return { ...caller, open }
}

/** They wait once their images are stored and no request of the process is in work. */
const untilWaiting = (caller: Caller, count: number, { healthUrl } = world.api) =>
  until(`${count} requests wait`, async () => {
    if ((await countUnusedUploads(world, caller.workspaceId)) !== count) return false
    const inWork = await exposedAt(healthUrl, 'matte_http_requests_in_flight', {})
    return inWork + (await exposedAt(healthUrl, 'matte_http_requests_waiting', { for: 'store' })) === 0
  })

const sizesOf = async ({ workspaceId }: Caller): Promise<number[]> => {
  const tasks = world.db.selectFrom('task').select('source_size_bytes').where('workspace_id', '=', workspaceId)
  return (await tasks.orderBy('created_at').execute()).map((task) => task.source_size_bytes)
}

describe('a request above the concurrency of its plan', () => {
  it('waits its turn in the order of arrival', async () => {
    const caller = await givenBusy()
    const images = [await smallImage('png', 41), await smallImage('png', 42, 90), await smallImage('png', 43, 150)]
    const answers: Promise<Response>[] = []
    for (const [index, bytes] of images.entries()) {
      answers.push(send(caller, { bytes }))
      await untilWaiting(caller, index + 1)
    }
    for (const [index, ended] of caller.open.entries()) {
      await succeed(world.db, ended)
      await until('the next has its task', async () => (await countTasks(world, caller.workspaceId)) === 3 + index)
    }
    expect((await sizesOf(caller)).slice(2)).toEqual(images.slice(0, 2).map(({ length }) => length))
    const { items } = await caller.client.listTasks({ status: 'queued' })
    for (const { id } of items) await caller.client.cancelTask(id)
    await until('the last has its task', async () => (await countTasks(world, caller.workspaceId)) === 5)
    expect((await sizesOf(caller)).at(-1)).toBe(images[2]?.length)
    const { items: last } = await caller.client.listTasks({ status: 'queued' })
    for (const { id } of last) await caller.client.cancelTask(id)
    for (const answer of answers) expect((await answer).status).toBe(503) // canceled
  })

  it('holds no memory of the doors: its image is in the store', async () => {
    const caller = await givenBusy()
    const bytes = Buffer.concat([await smallImage(), Buffer.alloc(18 * mb)])
    const leaving = new AbortController()
    // Three would need 108 MiB, and a workspace may hold 80.
    for (let count = 1; count <= 3; count++) {
      const form = formOf({}, { name: 'image_file', bytes })
      const options = { method: 'POST', body: form, headers: { 'X-Api-Key': caller.apiKey }, signal: leaving.signal }
      void fetch(`${world.api.url}/v1.0/removebg`, options).catch(() => undefined)
      await untilWaiting(caller, count)
    }
    leaving.abort()
    await untilWaiting(caller, 0)
  })

  it('holds no request capacity and no database connection', async () => {
    const variables = { DATABASE_POOL_MAX: '2', REQUESTS_IN_WORK_MAX: '4', TASKS_MAX_WAIT: '50' }
    const api = await startApi({ DATABASE_URL: world.databaseUrl, ...variables })
    try {
      const caller = await givenBusy(api)
      const leaving = new AbortController()
      for (let count = 1; count <= 4; count++) {
        const form = formOf({}, { name: 'image_file', bytes: await smallImage() })
        const options = { method: 'POST', body: form, headers: { 'X-Api-Key': caller.apiKey }, signal: leaving.signal }
        void fetch(`${api.url}/v1.0/removebg`, options).catch(() => undefined)
        await untilWaiting(caller, count, api)
      }
      expect((await caller.client.listTasks({})).total).toBe(2)
      leaving.abort()
    } finally {
      await api.stop()
    }
  })

  it('whose client leaves creates no task and keeps no upload, and the next takes its turn', async () => {
    const caller = await givenBusy()
    const leaving = new AbortController()
    const form = formOf({}, { name: 'image_file', bytes: await smallImage() })
    const options = { method: 'POST', body: form, headers: { 'X-Api-Key': caller.apiKey }, signal: leaving.signal }
    const left = fetch(`${world.api.url}/v1.0/removebg`, options).catch(() => 'left')
    await untilWaiting(caller, 1)
    const bytes = await smallImage('png', 42, 90)
    const next = send(caller, { bytes })
    await untilWaiting(caller, 2)
    leaving.abort()
    expect(await left).toBe('left')
    await untilWaiting(caller, 1)
    await succeed(world.db, caller.open[0] ?? '')
    await until('the next has its task', async () => (await countTasks(world, caller.workspaceId)) === 3)
    expect((await sizesOf(caller)).at(-1)).toBe(bytes.length)
    const { items } = await caller.client.listTasks({ status: 'queued' })
    for (const { id } of items) await caller.client.cancelTask(id)
    expect((await next).status).toBe(503)
    expect(await readBalance(world.db, caller.workspaceId)).toMatchObject({ available: 19, held: 0 })
  })

  it('takes no slot of another workspace, whose requests do not wait', async () => {
    const busy = await givenBusy()
    const leaving = new AbortController()
    const form = formOf({}, { name: 'image_file', bytes: await smallImage() })
    const options = { method: 'POST', body: form, headers: { 'X-Api-Key': busy.apiKey }, signal: leaving.signal }
    void fetch(`${world.api.url}/v1.0/removebg`, options).catch(() => undefined)
    await untilWaiting(busy, 1)
    const other = await world.caller()
    const answer = send(other)
    await until('the other has its task', async () => (await countTasks(world, other.workspaceId)) === 1)
    const { items } = await other.client.listTasks({})
    for (const { id } of items) await other.client.cancelTask(id)
    expect((await answer).status).toBe(503)
    leaving.abort()
  })

  it('is answered 429 when the process stops', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, STOP_WITHIN_MS: '600000', TASKS_MAX_WAIT: '50' })
    const caller = await givenBusy(api)
    const answer = send(caller, { url: api.url })
    await untilWaiting(caller, 1, api)
    await api.stop()
    const response = await answer
    expect([response.status, await codeOf(response)]).toEqual([429, 'rate_limit_exceeded'])
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })
})

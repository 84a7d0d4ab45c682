// Overload. The test holds a lock in the database that blocks admitted requests, so results do not depend on speed.
import { once } from 'node:events'
import { connect } from 'node:net'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { ApiError, TaskPage } from '../support/client.ts'
import { until } from '../support/until.ts'
import { type Caller, useApi, type World } from './given.ts'

type Which = 'in_flight' | 'waiting.*for="body"'

/** Reads the metrics of the process. */
async function countRequests({ api }: World, which: Which): Promise<number> {
  const text = await (await fetch(`${api.healthUrl}/metrics`)).text()
  return Number(new RegExp(`^matte_http_requests_${which}\\S* (\\d+)`, 'm').exec(text)?.[1])
}

/** Requests wait in the rate limiter for this lock while `act` runs. */
const whileLocked = ({ db }: World, act: () => Promise<void>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`lock table rate_window in exclusive mode`.execute(tx)
    await act()
  })

const list = ({ client }: Caller): Promise<TaskPage | ApiError> =>
  client.listTasks().catch((error: unknown) => error as ApiError)

const refusal = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } }

describe('with capacity for four requests', () => {
  const world = useApi({ REQUESTS_IN_WORK_MAX: '4' })

  const callers = (): Promise<Caller[]> => Promise.all(Array.from({ length: 4 }, () => world.caller()))

  it('rejects the fifth immediately, completes the four, and has capacity again', async () => {
    const [caller, more] = [await world.caller(), await callers()]
    let four: Promise<unknown[]> = Promise.resolve([])
    await whileLocked(world, async () => {
      four = Promise.all(more.map(list))
      await until('four are in work', async () => (await countRequests(world, 'in_flight')) === 4)
      const error = (await list(caller)) as ApiError
      expect(error).toMatchObject(refusal)
      expect(error.message).toContain('try again')
      const retryAfter = Number(error.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(3_600)
      expect(error.headers.get('x-ratelimit-limit')).toBeNull()
      // Requests without a credential need no work and succeed.
      expect((await fetch(`${world.api.url}/healthz`)).status).toBe(200)
    })
    for (const answer of await four) expect(answer).toMatchObject({ items: [] })
    expect(await list(caller)).toMatchObject({ items: [] })
    expect(await countRequests(world, 'in_flight')).toBe(0)
  })

  it('counts abandoned requests until their work is done, and no longer', async () => {
    const [caller, more] = [await world.caller(), await callers()]
    await whileLocked(world, async () => {
      const gone = new AbortController()
      const url = `${world.api.url}/api/v1/open/developer/tasks`
      const asked = more.map(({ apiKey }) =>
        fetch(url, { headers: { 'x-api-key': apiKey }, signal: gone.signal }).catch(() => undefined),
      )
      await until('four are in work', async () => (await countRequests(world, 'in_flight')) === 4)
      gone.abort()
      await Promise.all(asked)
      expect(await list(caller)).toMatchObject(refusal)
    })
    await until('their work is done', async () => (await countRequests(world, 'in_flight')) === 0)
    expect(await list(caller)).toMatchObject({ items: [] })
  })

  it('has capacity again after responses of every kind', async () => {
    const { client } = await world.caller()
    await client.call('GET', '/tasks/unknown').catch(() => undefined)
    await client.call('POST', '/tasks', { body: '{' }).catch(() => undefined)
    await world.api
      .client('none')
      .listTasks()
      .catch(() => undefined)
    expect(await countRequests(world, 'in_flight')).toBe(0)
  })
})

describe('one workspace', () => {
  const world = useApi({ REQUESTS_IN_WORK_MAX: '16' })

  it('has a quarter of the capacity, for any number of requests and keys, and others are served', async () => {
    const [flood, other] = [await world.caller(), await world.caller()]
    await list(flood)
    const answers: (TaskPage | ApiError)[] = []
    let all: Promise<unknown>[] = []
    await whileLocked(world, async () => {
      all = Array.from({ length: 40 }, async () => void answers.push(await list(flood)))
      await until('all but its quarter are refused', async () => answers.length === 36)
      const answered = list(other)
      all.push(answered)
      await until('another has a place', async () => (await countRequests(world, 'in_flight')) === 5)
    })
    expect(await all.at(-1)).toMatchObject({ items: [] })
    await Promise.all(all)
    for (const [index, answer] of answers.entries()) expect(answer).toMatchObject(index < 36 ? refusal : { items: [] })
  })
})

/** A creation with only its head and half of its body sent; `answer` is the complete response. */
function sendHalf({ api }: World, { apiKey }: Caller) {
  const body = JSON.stringify({ imageUrl: 'unknown.png', note: 'x'.repeat(1_000) })
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  const head = ['POST /api/v1/open/developer/tasks HTTP/1.1', `Host: ${hostname}`, `X-API-Key: ${apiKey}`]
  const more = ['Content-Type: application/json', `Content-Length: ${body.length}`, '', '']
  socket.write([...head, ...more].join('\r\n') + body.slice(0, 500))
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  const answer = once(socket, 'close').then(() => text)
  return { socket, answer, sendRest: () => socket.write(body.slice(500)), read: () => text }
}

describe('incomplete bodies', () => {
  const world = useApi({ REQUESTS_IN_WORK_MAX: '16' })

  it('use no capacity: other requests are served, and these time out', async () => {
    const slow = await Promise.all(Array.from({ length: 4 }, () => world.caller()))
    const reader = await world.caller()
    const begun = slow.flatMap((caller) => Array.from({ length: 5 }, () => sendHalf(world, caller)))
    await until('the room for bodies is full', async () => (await countRequests(world, 'waiting.*for="body"')) === 8)
    for (const caller of [reader, ...slow]) expect(await list(caller)).toMatchObject({ items: [] })
    await expect(reader.client.createTask({ imageUrl: 'unknown.png' })).rejects.toMatchObject({ status: 403 })
    // Two of each wait; the others are rejected without reading the rest of their bodies.
    await until('the others are answered', () => begun.filter(({ read }) => read().includes(' 429 ')).length === 12)
    const [first, ...waiting] = begun.filter(({ read }) => read() === '')
    first?.sendRest()
    await until('the one that is sent is answered', () => first?.read().includes('TASK_INPUT_FORBIDDEN'))
    const [gone, ...late] = waiting
    gone?.socket.destroy()
    for (const { answer } of late) {
      const text = await answer
      expect(text).toMatch(/^HTTP\/1.1 400 /)
      expect(text).toMatch(/^connection: close/im)
      expect(text).toContain('"code":"INVALID_PARAMS"')
      expect(text).toContain('did not arrive in time')
    }
    expect(await countRequests(world, 'waiting.*for="body"')).toBe(0)
    for (const { socket } of begun) socket.destroy()
  })
})

describe('with one database connection, which is in use', () => {
  const world = useApi({ DATABASE_POOL_MAX: '1' })

  it('rejects immediately when its queue is too old, and serves all again when it is free', async () => {
    const caller = await world.caller()
    await caller.client.listTasks()
    let waiting: Promise<unknown>[] = []
    /** Needs a connection, whatever is cached. */
    const askInVain = () =>
      world.api
        .client(generateApiKey().key)
        .listTasks()
        .catch(() => undefined)
    await world.db.transaction().execute(async (tx) => {
      await sql`lock table rate_window in exclusive mode`.execute(tx)
      waiting = Array.from({ length: 2 }, () => askInVain())
      const one = caller.client.listTasks().catch((error: unknown) => error)
      waiting.push(one, askInVain())
      await until('a request is refused', async () => {
        const asked = caller.client.listTasks().catch((error: ApiError) => error)
        waiting.push(asked)
        const answer = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 200))])
        return answer !== undefined && (answer as ApiError).code === 'RATE_LIMIT_EXCEEDED' && answer
      })
    })
    await Promise.allSettled(waiting)
    await expect(caller.client.listTasks()).resolves.toMatchObject({ items: [] })
  })
})

// More than the service can take. What is let in is held up here by a lock that the test holds in the database, so
// that no speed of the machine decides anything.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { ApiError, TaskPage } from '../support/client.ts'
import { until } from '../support/until.ts'
import { type Caller, useApi } from './given.ts'

const refusal = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } }

describe('with room for four requests', () => {
  const world = useApi({ REQUESTS_IN_WORK_MAX: '4' })

  /** Requests wait in the rate limiter, for this lock, while `act` runs. */
  const whileLocked = (act: () => Promise<void>): Promise<void> =>
    world.db.transaction().execute(async (tx) => {
      await sql`lock table rate_window in exclusive mode`.execute(tx)
      await act()
    })
  const inWork = async (): Promise<number> =>
    Number(
      /^matte_http_requests_in_flight\S* (\d+)/m.exec(
        await (await fetch(`${world.api.healthUrl}/metrics`)).text(),
      )?.[1],
    )
  const list = ({ client }: Caller): Promise<TaskPage | ApiError> =>
    client.listTasks().catch((error: unknown) => error as ApiError)

  it('refuses the fifth at once, answers the four, and has room again', async () => {
    const caller = await world.caller()
    let four: Promise<unknown[]> = Promise.resolve([])
    await whileLocked(async () => {
      four = Promise.all(Array.from({ length: 4 }, () => list(caller)))
      await until('four are in work', async () => (await inWork()) === 4)
      const error = (await list(caller)) as ApiError
      expect(error).toMatchObject(refusal)
      expect(error.message).toContain('try again')
      const retryAfter = Number(error.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(3_600)
      expect(error.headers.get('x-ratelimit-limit')).toBeNull()
      // What needs no credential is no work of the API's and is answered.
      expect((await fetch(`${world.api.url}/healthz`)).status).toBe(200)
    })
    for (const answer of await four) expect(answer).toMatchObject({ items: [] })
    expect(await list(caller)).toMatchObject({ items: [] })
    expect(await inWork()).toBe(0)
  })

  it('counts those whose clients have gone until their work is done, and not forever', async () => {
    const caller = await world.caller()
    await whileLocked(async () => {
      const gone = new AbortController()
      const url = `${world.api.url}/api/v1/open/developer/tasks`
      const asked = Array.from({ length: 4 }, () =>
        fetch(url, { headers: { 'x-api-key': caller.apiKey }, signal: gone.signal }).catch(() => undefined),
      )
      await until('four are in work', async () => (await inWork()) === 4)
      gone.abort()
      await Promise.all(asked)
      expect(await list(caller)).toMatchObject(refusal)
    })
    await until('their work is done', async () => (await inWork()) === 0)
    expect(await list(caller)).toMatchObject({ items: [] })
  })

  it('has room again after answers of every kind', async () => {
    const { client } = await world.caller()
    await client.call('GET', '/tasks/unknown').catch(() => undefined)
    await client.call('POST', '/tasks', { body: '{' }).catch(() => undefined)
    await world.api
      .client('none')
      .listTasks()
      .catch(() => undefined)
    expect(await inWork()).toBe(0)
  })
})

describe('with one database connection, which is in use', () => {
  const world = useApi({ DATABASE_POOL_MAX: '1' })

  it('refuses at once when the queue for it has become too old, and serves all again when it is free', async () => {
    const caller = await world.caller()
    await caller.client.listTasks()
    let waiting: Promise<unknown>[] = []
    /** Needs a connection, whatever is known already. */
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

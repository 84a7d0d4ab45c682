import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { DatabaseAway, DatabaseBusy, failFastPool } from './fail-fast-pool.ts'

class Refused extends Error {
  readonly code = 'ECONNREFUSED'
}

class Full extends Error {}

/** A pool whose connections succeed, fail or hang as the test says; it counts connection attempts. */
function fakePool() {
  let asked = 0
  let answer: () => Promise<unknown> = () => Promise.resolve(client)
  const released: unknown[] = []
  const ended: unknown[] = []
  const client = {
    query: ({ text }: { text: string }) =>
      text === 'hang' ? Promise.reject(new Error('Query read timeout')) : Promise.resolve({ rows: [] }),
    release: (discard: unknown) => void released.push(discard),
    end: async () => void ended.push('ended'),
  }
  const pool = {
    options: { max: 2 },
    totalCount: 2,
    connect: () => {
      asked += 1
      return answer()
    },
    end: () => Promise.resolve(),
  } as unknown as pg.Pool // the parts of the driver's pool that this code uses
  return {
    pool,
    released,
    ended,
    asked: () => asked,
    answerWith: (next: () => Promise<unknown>) => {
      answer = next
    },
    client,
  }
}

function given() {
  let nowMs = 1_000
  const fake = fakePool()
  const clock = { monotonicMs: () => nowMs }
  const warnings: unknown[] = []
  const observed: unknown[][] = []
  const note =
    (what: string) =>
    (...values: unknown[]): void =>
      void observed.push([what, ...values])
  const observer = {
    statementEnded: note('statement'),
    transactionEnded: note('transaction'),
    connectFailed: note('connect failed'),
    notServed: note('not served'),
  }
  const pool = failFastPool(fake.pool, {
    clock,
    isAway: (error) => error instanceof Refused,
    isServerFull: (error) => error instanceof Full,
    logger: { warn: (what: unknown) => void warnings.push(what) },
    findWorking: async () => undefined,
    observer,
  })
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { fake, pool, pass, warnings, observed }
}

describe('failFastPool', () => {
  it('retries a statement once after a deadlock, outside of a transaction', async () => {
    const { fake, pool } = given()
    const sent: string[] = []
    const query = async ({ text }: { text: string }) => {
      sent.push(text)
      const isSecond = sent.filter((each) => each === text).length === 2
      if (text.startsWith('update') && !isSecond) throw Object.assign(new Error('deadlock'), { code: '40P01' })
      return { rows: [] }
    }
    fake.answerWith(() => Promise.resolve({ ...fake.client, query }))
    const client = await pool.connect()
    await client.query('update a', [])
    await client.query('begin', [])
    await expect(client.query('update b', [])).rejects.toMatchObject({ code: '40P01' })
    expect(sent).toEqual(['update a', 'update a', 'begin', 'update b'])
  })

  it('leaves a server that accepts no writes, with all connections of its time', async () => {
    const { fake, pool, pass } = given()
    const [released, discarded]: [unknown[], unknown[]] = [[], []]
    const sent: string[] = []
    const query = async ({ text }: { text: string }) => {
      sent.push(text)
      if (text === 'write') throw Object.assign(new Error('read-only transaction'), { code: '25006' })
      return { rows: [] }
    }
    const writes = { ...fake.client, query, release: (discard: unknown) => void released.push(discard) }
    const reads = { ...fake.client, query, release: (discard: unknown) => void discarded.push(discard) }
    for (const each of [writes, reads]) {
      fake.answerWith(() => Promise.resolve(each))
      await pool.connect() // both are in the pool
    }
    pass(5_000)
    fake.answerWith(() => Promise.resolve(writes))
    const client = await pool.connect()
    await expect(client.query('write', [])).rejects.toMatchObject({ code: '25006' })
    client.release()
    await vi.waitFor(() => expect(released).toEqual([true]))
    expect(sent.at(-1)).toMatch(/^select pg_terminate_backend\(/) // a pooler would reuse the session
    // The other one is discarded before its next use; a new connection follows.
    let asked = 0
    const answers = [reads, { ...fake.client, query }]
    fake.answerWith(() => Promise.resolve(answers[asked++]))
    await pool.connect()
    expect([asked, discarded]).toEqual([2, [true]])
  })

  it('fails at once while the database is unavailable, and lets one caller retry', async () => {
    const { fake, pool, pass } = given()
    fake.answerWith(() => Promise.reject(new Refused()))
    await expect(pool.connect()).rejects.toBeInstanceOf(Refused)
    for (let i = 0; i < 100; i++) await expect(pool.connect()).rejects.toBeInstanceOf(DatabaseAway)
    expect(fake.asked()).toBe(1)
    pass(250)
    const hanging = Promise.withResolvers<never>()
    fake.answerWith(() => hanging.promise)
    const trying = pool.connect()
    await expect(pool.connect()).rejects.toBeInstanceOf(DatabaseAway)
    expect(fake.asked()).toBe(2)
    hanging.reject(new Refused())
    await expect(trying).rejects.toBeInstanceOf(Refused)
  })

  it('recovers with the first successful connection', async () => {
    const { fake, pool, pass } = given()
    fake.answerWith(() => Promise.reject(new Refused()))
    await expect(pool.connect()).rejects.toThrow()
    fake.answerWith(() => Promise.resolve(fake.client))
    pass(250)
    await pool.connect()
    await pool.connect()
    expect(fake.asked()).toBe(3)
  })

  it("stays open after an error that is not the connection's", async () => {
    const { fake, pool } = given()
    fake.answerWith(() => Promise.reject(new Error('password authentication failed')))
    await expect(pool.connect()).rejects.toThrow('password')
    await expect(pool.connect()).rejects.toThrow('password')
  })

  it('distinguishes a full pool from an outage', async () => {
    const { fake, pool } = given()
    fake.answerWith(() => Promise.reject(new Error('timeout exceeded when trying to connect')))
    await expect(pool.connect()).rejects.toBeInstanceOf(DatabaseBusy)
    await expect(pool.connect()).rejects.toBeInstanceOf(DatabaseBusy)
  })

  it('reports the wait of the first caller in the queue', async () => {
    const { fake, pool, pass } = given()
    expect(pool.oldestWaitMs()).toBe(0)
    const free = Promise.withResolvers<unknown>()
    fake.answerWith(() => free.promise)
    const first = pool.connect()
    pass(300)
    const second = pool.connect()
    pass(200)
    expect(pool.oldestWaitMs()).toBe(500)
    free.resolve(fake.client)
    await Promise.all([first, second])
    expect(pool.oldestWaitMs()).toBe(0)
  })

  it('reports no wait while the pool may grow', async () => {
    const { fake, pool, pass } = given()
    Object.assign(fake.pool, { totalCount: 1 })
    const made = Promise.withResolvers<unknown>()
    fake.answerWith(() => made.promise)
    const waiting = pool.connect()
    pass(2_000)
    expect(pool.oldestWaitMs()).toBe(0)
    made.resolve(fake.client)
    await waiting
  })

  it('falls back to its connections while the server rejects more, and retries later', async () => {
    const { fake, pool, pass, warnings } = given()
    Object.assign(fake.pool, { totalCount: 1 })
    fake.answerWith(() => {
      fake.answerWith(() => Promise.resolve(fake.client)) // a connection is free
      return Promise.reject(new Full())
    })
    await pool.connect()
    expect([fake.asked(), fake.pool.options.max]).toEqual([2, 1])
    pass(9_999)
    await pool.connect()
    expect(fake.pool.options.max).toBe(1)
    pass(1)
    await pool.connect()
    expect([fake.pool.options.max, warnings.length]).toEqual([2, 1])
  })

  it('fails if the server rejects its first connection', async () => {
    const { fake, pool } = given()
    Object.assign(fake.pool, { totalCount: 0 })
    fake.answerWith(() => Promise.reject(new Full()))
    await expect(pool.connect()).rejects.toBeInstanceOf(Full)
    expect(fake.asked()).toBe(1)
  })

  it('closes a connection whose statement got no response, and keeps the others', async () => {
    const { fake, pool } = given()
    const client = await pool.connect()
    await client.query('select 1', [])
    client.release()
    await expect(client.query('hang', [])).rejects.toThrow('Query read timeout')
    client.release()
    expect(fake.ended).toHaveLength(1) // otherwise its ROLLBACK would wait
    expect(fake.released).toEqual([false, true])
  })

  it('observes statements, transactions, durations and errors', async () => {
    const { fake, pool, pass, observed } = given()
    const client = await pool.connect()
    for (const text of ['begin', 'select 1', 'commit']) {
      const answered = client.query(text, [])
      pass(1_000)
      await answered
    }
    await expect(client.query('hang', [])).rejects.toThrow('Query read timeout')
    expect(observed.splice(0)).toEqual([
      ['statement', 'select 1', 1, undefined],
      ['transaction', 3],
      ['statement', 'hang', 0, expect.any(Error)],
    ])
    fake.answerWith(() => Promise.reject(new Refused()))
    await expect(pool.connect()).rejects.toThrow()
    await expect(pool.connect()).rejects.toThrow()
    expect(observed.splice(0)).toEqual([
      ['connect failed', expect.any(Refused)],
      ['not served', expect.any(Refused)],
      ['not served', expect.any(DatabaseAway)],
    ])
    pass(250)
    fake.answerWith(() => Promise.reject(new Error('timeout exceeded when trying to connect')))
    await expect(pool.connect()).rejects.toThrow()
    expect(observed).toEqual([['not served', expect.any(DatabaseAway)]])
  })
})

import { describe, expect, it } from 'vitest'
import { createNameCache } from './name-cache.ts'
import { type NameAnswer, NameError } from './query-name.ts'

const answerOf = (address: string, ttlSeconds: number): NameAnswer => ({
  addresses: [{ address, family: 4 }],
  ttlSeconds,
})

/** A cache over answers that the test gives one by one, and a clock that it moves. */
function given() {
  const replies: (() => Promise<NameAnswer>)[] = []
  const state = { nowMs: 0, asked: 0 }
  const cache = createNameCache(
    () => {
      state.asked += 1
      const reply = replies.shift()
      if (reply === undefined) throw new Error('asked once too often')
      return reply()
    },
    () => state.nowMs,
  )
  return {
    state,
    reply: (answer: NameAnswer | Error) =>
      replies.push(() => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer))),
    replyNever: () => replies.push(() => new Promise(() => undefined)),
    find: async (name = 'store') => (await cache(name)).map(({ address }) => address).join(),
  }
}

describe('a name that was found', () => {
  it('is asked for again when its record has run out', async () => {
    const { state, reply, find } = given()
    reply(answerOf('10.0.0.1', 30))
    reply(answerOf('10.0.0.2', 30))
    expect(await find()).toBe('10.0.0.1')
    state.nowMs = 29_999
    expect(await find()).toBe('10.0.0.1')
    state.nowMs = 30_000
    expect(await find()).toBe('10.0.0.2')
    expect(state.asked).toBe(2)
  })

  it.each([
    [0, 1_000],
    [86_400, 300_000],
  ])('with a record of %i s is kept for %i ms', async (ttlSeconds, keptMs) => {
    const { state, reply, find } = given()
    reply(answerOf('10.0.0.1', ttlSeconds))
    reply(answerOf('10.0.0.2', ttlSeconds))
    await find()
    state.nowMs = keptMs - 1
    await find()
    expect(state.asked).toBe(1)
    state.nowMs = keptMs
    expect(await find()).toBe('10.0.0.2')
  })

  it('is asked for once by all who want it at once', async () => {
    const { state, reply, find } = given()
    reply(answerOf('10.0.0.1', 30))
    expect(await Promise.all([find(), find(), find()])).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.1'])
    expect(state.asked).toBe(1)
  })
})

describe('a name server that does not answer', () => {
  const silent = new NameError('EAI_AGAIN', 'store')

  it('leaves what was known in use for ten minutes', async () => {
    const { state, reply, find } = given()
    reply(answerOf('10.0.0.1', 30))
    await find()
    for (const nowMs of [30_000, 300_000, 629_000]) {
      state.nowMs = nowMs
      reply(silent)
      expect(await find()).toBe('10.0.0.1')
    }
    expect(state.asked).toBe(4)
    state.nowMs = 630_000
    reply(silent)
    await expect(find()).rejects.toBe(silent)
  })

  it('holds nobody up who has an old answer', async () => {
    const { state, reply, replyNever, find } = given()
    reply(answerOf('10.0.0.1', 30))
    await find()
    state.nowMs = 30_000
    replyNever()
    expect(await find()).toBe('10.0.0.1')
  })

  it('is asked again a second later, by whoever comes then', async () => {
    const { state, reply, find } = given()
    reply(silent)
    await expect(find()).rejects.toBe(silent)
    state.nowMs = 999
    await expect(find()).rejects.toBe(silent)
    expect(state.asked).toBe(1)
    state.nowMs = 1_000
    reply(answerOf('10.0.0.1', 30))
    expect(await find()).toBe('10.0.0.1')
  })
})

it('a name that is gone ends what was known of it', async () => {
  const { state, reply, find } = given()
  reply(answerOf('10.0.0.1', 30))
  await find()
  state.nowMs = 30_000
  const gone = new NameError('ENOTFOUND', 'store')
  reply(gone)
  await expect(find()).rejects.toBe(gone)
})

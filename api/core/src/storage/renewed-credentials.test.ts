import { describe, expect, it } from 'vitest'
import { decideKeys, renewedCredentials, retryAfterMs } from './renewed-credentials.ts'
import type { StoreKeys } from './store-credentials.ts'

const minute = 60_000
const keysFor = (minutes: number): StoreKeys => ({
  accessKeyId: `key-${minutes}`,
  secretAccessKey: 'secret',
  sessionToken: 'token',
  expiresAt: new Date(minutes * minute),
})

describe('decideKeys', () => {
  // Minutes: until the keys expire, since the last fetch, validity that the caller needs.
  it.each([
    ['none yet', undefined, Infinity, undefined, 'wait'],
    ['fresh', 60, 1, undefined, 'use'],
    ['fresh, for an upload link', 60, 1, 15, 'use'],
    ['older', 19, 41, undefined, 'renew'],
    ['older, just renewed without success', 19, 0.5, undefined, 'use'],
    ['older, for an upload link that they outlive', 16, 44, 15, 'renew'],
    ['older, for an upload link that outlives them', 14, 46, 15, 'wait'],
    ['older, just fetched: the session is short', 14, 0.5, 15, 'use'],
    ['last minute', 0.9, 59, undefined, 'wait'],
    ['expired', -1, 61, undefined, 'wait'],
    ['without expiry', Infinity, 10_000, 15, 'use'],
  ] as const)('%s', (_name, left, since, valid, expected) => {
    const held = heldWith(left, { fetchedAtMs: nowMs - since * minute })
    expect(decideKeys(held, nowMs, valid === undefined ? undefined : valid * minute)).toBe(expected)
  })

  // Minutes until the keys expire, ms until a fetch is allowed.
  it.each([
    ['expired, before the next try', -1, 1, 'fail'],
    ['expired, at the next try', -1, 0, 'wait'],
    ['last minute, before the next try', 0.9, 1, 'use'],
    ['last minute, at the next try', 0.9, 0, 'wait'],
    ['older, before the next try', 19, 1, 'use'],
  ] as const)('%s', (_name, left, retryInMs, expected) => {
    const held = heldWith(left, { fetchedAtMs: nowMs - minute, retryAtMs: nowMs + retryInMs })
    expect(decideKeys(held, nowMs)).toBe(expected)
  })

  // Seconds since refused keys were replaced the last time.
  it.each([
    ['refused for the first time', Infinity, 'wait'],
    ['refused again', 29.9, 'use'],
    ['refused again, later', 30, 'wait'],
  ] as const)('%s', (_name, sinceS, expected) => {
    const held = heldWith(60, { refused: true, fetchedAtMs: nowMs, replacedAtMs: nowMs - sinceS * 1_000 })
    expect(decideKeys(held, nowMs)).toBe(expected)
  })

  const nowMs = 1_000 * minute
  type Held = Parameters<typeof decideKeys>[0]
  function heldWith(left: number | undefined, changes: Partial<Held>): Held {
    const expiresAt = left === Infinity ? undefined : new Date(nowMs + (left ?? 0) * minute)
    const keys = left === undefined ? undefined : { ...keysFor(0), expiresAt }
    return { keys, refused: false, fetchedAtMs: -Infinity, replacedAtMs: -Infinity, retryAtMs: -Infinity, ...changes }
  }
})

describe('retryAfterMs', () => {
  it.each([
    [1, 0, 1_000],
    [1, 1, 1_500],
    [2, 0, 2_000],
    [6, 0, 32_000],
    [7, 0, 40_000],
    [2_000, 0, 40_000],
    [2_000, 1, 60_000],
  ])('after %i failures, at random %d: %i ms', (failures, random, expected) => {
    expect(retryAfterMs(failures, random)).toBe(expected)
  })
})

describe('renewedCredentials', () => {
  function given() {
    let nowMs = 0
    const answers: (StoreKeys | Error)[] = []
    const failures: unknown[] = []
    let fetches = 0
    const credentials = renewedCredentials({
      fetchKeys: async () => {
        fetches++
        const answer = answers.shift() ?? new Error('no answer is left')
        if (answer instanceof Error) throw answer
        return answer
      },
      nowMs: () => nowMs,
      random: () => 1,
      fetchFailed: (error) => void failures.push(error),
    })
    const at = (minutes: number): void => {
      nowMs = minutes * minute
    }
    return { credentials, answers, failures, at, fetches: () => fetches }
  }
  const idOf = async (keys: Promise<StoreKeys>): Promise<string> => (await keys).accessKeyId

  it('fetches once for concurrent callers, and again while the keys still work', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(60), keysFor(100))
    expect(await Promise.all([idOf(credentials.keys()), idOf(credentials.keys())])).toEqual(['key-60', 'key-60'])
    at(41)
    expect(await idOf(credentials.keys())).toBe('key-60')
    await Promise.resolve()
    expect(await idOf(credentials.keys())).toBe('key-100')
    expect(fetches()).toBe(2)
  })

  it('keeps valid keys after a failed renewal, and is unavailable once they expire', async () => {
    const { credentials, answers, failures, at } = given()
    answers.push(keysFor(60), new Error('the token service is away'), new Error('still away'), keysFor(180))
    await credentials.keys()
    at(45)
    expect(await idOf(credentials.keys())).toBe('key-60')
    at(61)
    await expect(credentials.keys()).rejects.toMatchObject({ name: 'StorageError', kind: 'unavailable' })
    expect(failures).toHaveLength(2)
    at(62)
    expect(await idOf(credentials.keys())).toBe('key-180')
  })

  it('fetches at once after the store rejects the current keys', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(60), keysFor(61))
    const first = await credentials.keys()
    credentials.refused(first)
    expect(await idOf(credentials.keys())).toBe('key-61')
    at(1)
    credentials.refused(first)
    expect(await idOf(credentials.keys())).toBe('key-61')
    expect(fetches()).toBe(2)
  })

  it('replaces rejected keys once in 30 s, and uses them in between', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(60), keysFor(61), keysFor(62))
    const request = async (): Promise<string> => {
      const keys = await credentials.keys()
      credentials.refused(keys)
      return keys.accessKeyId
    }
    for (let i = 0; i < 20; i++) await request()
    at(0.49)
    expect(await request()).toBe('key-61')
    expect(fetches()).toBe(2)
    at(0.5)
    expect(await request()).toBe('key-62')
    expect(fetches()).toBe(3)
  })

  it('keeps rejected keys while the token service fails, with backoff', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(60))
    credentials.refused(await credentials.keys())
    const second = 1 / 60
    // Delays of 1.5 s, 3 s and 6 s after the failures at 0 s, 1.5 s and 4.5 s.
    for (const [seconds, expected] of [
      [0, 2],
      [1.4, 2],
      [1.5, 3],
      [4.4, 3],
      [4.5, 4],
      [10.4, 4],
      [10.5, 5],
    ] as const) {
      at(seconds * second)
      expect(await idOf(credentials.keys())).toBe('key-60')
      expect([seconds, fetches()]).toEqual([seconds, expected])
    }
  })

  it('resets the backoff after a successful fetch', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(new Error('away'), keysFor(1.5), new Error('away again'), keysFor(60))
    await expect(credentials.keys()).rejects.toMatchObject({ cause: new Error('away') })
    at(0.025)
    await credentials.keys()
    at(2)
    await expect(credentials.keys()).rejects.toMatchObject({ cause: new Error('away again') })
    at(2.025)
    expect(await idOf(credentials.keys())).toBe('key-60')
    expect(fetches()).toBe(4)
  })

  it('fetches short-lived keys once in 30 s, or when they expire', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(0.9), keysFor(0.9), keysFor(60))
    for (const [minutes, expected] of [
      [0, 1],
      [0, 1],
      [0.49, 1],
      [0.5, 2],
      [0.89, 2],
      [0.9, 3],
    ] as const) {
      at(minutes)
      await credentials.keys()
      expect([minutes, fetches()]).toEqual([minutes, expected])
    }
  })

  it('treats expired keys as a failed fetch', async () => {
    const { credentials, answers, failures, at, fetches } = given()
    at(60)
    answers.push(keysFor(60), keysFor(120))
    await expect(credentials.keys()).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(credentials.keys()).rejects.toMatchObject({ kind: 'unavailable' })
    expect(failures).toMatchObject([{ message: expect.stringContaining('clock') }])
    expect(fetches()).toBe(1)
  })
})

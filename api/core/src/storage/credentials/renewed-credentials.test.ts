import { describe, expect, it } from 'vitest'
import { decideKeys, renewedCredentials } from './renewed-credentials.ts'
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
    ['none yet', undefined, Infinity, undefined, false, 'wait'],
    ['fresh', 60, 1, undefined, false, 'use'],
    ['fresh, for an upload link', 60, 1, 15, false, 'use'],
    ['older', 19, 41, undefined, false, 'renew'],
    ['older, just renewed without success', 19, 0.5, undefined, true, 'use'],
    ['older, for an upload link that they outlive', 16, 44, 15, false, 'renew'],
    ['older, for an upload link that outlives them', 14, 46, 15, false, 'wait'],
    ['older, just fetched: the session is short', 14, 0.5, 15, false, 'use'],
    ['last minute', 0.9, 59, undefined, false, 'wait'],
    ['expired', -1, 61, undefined, false, 'wait'],
    ['expired, a fetch has just failed', -1, 0.01, undefined, true, 'fail'],
    ['expired, a fetch failed a second ago', -1, 0.02, undefined, true, 'wait'],
    ['without expiry', Infinity, 10_000, 15, false, 'use'],
  ] as const)('%s', (_name, left, since, valid, failed, expected) => {
    const nowMs = 1_000 * minute
    const expiresAt = left === Infinity ? undefined : new Date(nowMs + (left ?? 0) * minute)
    const keys = left === undefined ? undefined : { ...keysFor(0), expiresAt }
    const held = { keys, fetchedAtMs: nowMs - since * minute, failed }
    expect(decideKeys(held, nowMs, valid === undefined ? undefined : valid * minute)).toBe(expected)
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
      fetchFailed: (error) => void failures.push(error),
    })
    const at = (minutes: number): void => {
      nowMs = minutes * minute
    }
    return { credentials, answers, failures, at, fetches: () => fetches }
  }
  const idOf = async (keys: Promise<StoreKeys>): Promise<string> => (await keys).accessKeyId

  it('fetches once for callers at the same time, and again while the keys still work', async () => {
    const { credentials, answers, at, fetches } = given()
    answers.push(keysFor(60), keysFor(100))
    expect(await Promise.all([idOf(credentials.keys()), idOf(credentials.keys())])).toEqual(['key-60', 'key-60'])
    at(41)
    expect(await idOf(credentials.keys())).toBe('key-60')
    await Promise.resolve()
    expect(await idOf(credentials.keys())).toBe('key-100')
    expect(fetches()).toBe(2)
  })

  it('goes on with keys that work when a renewal fails, and is unavailable once they have expired', async () => {
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

  it('asks again at once when the store refused the keys, but not for keys of before', async () => {
    const { credentials, answers, fetches } = given()
    answers.push(keysFor(60), keysFor(61))
    const first = await credentials.keys()
    credentials.refused(first)
    expect(await idOf(credentials.keys())).toBe('key-61')
    credentials.refused(first)
    expect(await idOf(credentials.keys())).toBe('key-61')
    expect(fetches()).toBe(2)
  })
})

import { describe, expect, it } from 'vitest'
import { readTarget } from './forward.ts'
import { isPermanent, reconnectDelayMs } from './reconnect.ts'

describe('reconnecting', () => {
  it.each([
    [{ retryMs: 1_000, failures: 0, retryAfterMs: undefined }, 0.5, 750],
    [{ retryMs: 1_000, failures: 3, retryAfterMs: undefined }, 1, 8_000],
    [{ retryMs: 1_000, failures: 50, retryAfterMs: undefined }, 1, 30_000],
    [{ retryMs: undefined, failures: 0, retryAfterMs: undefined }, 1, 2_000],
    [{ retryMs: 1_000, failures: 1, retryAfterMs: 7_000 }, 0, 7_000],
  ])('%o waits with the random number %d for %i ms', (attempt, random, delayMs) => {
    expect(reconnectDelayMs(attempt, random)).toBe(delayMs)
  })

  it('gives up for refusals, and not for overload or outages', () => {
    expect([400, 401, 403, 404].every(isPermanent)).toBe(true)
    expect([408, 429, 500, 503].some(isPermanent)).toBe(false)
  })
})

describe('the receiver', () => {
  it.each([
    ['localhost:3000/hook', 'http://localhost:3000/hook'],
    ['https://localhost:3000', 'https://localhost:3000/'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000/'],
    ['[::1]:3000', 'http://[::1]:3000/'],
    ['my-app.test/hook', 'http://my-app.test/hook'],
  ])('%s is %s', (text, url) => {
    expect(readTarget(text, false).href).toBe(url)
  })

  it.each(['10.0.0.1:3000', '[2001:db8::1]:3000', 'http://192.168.1.2'])(
    '%s is refused, and allowed on request',
    (text) => {
      expect(() => readTarget(text, false)).toThrow('not on this machine')
      expect(() => readTarget(text, true)).not.toThrow()
    },
  )

  it.each(['ftp://localhost', 'http://', 'a b'])('%s is no receiver', (text) => {
    expect(() => readTarget(text, true)).toThrow('no http URL')
  })
})

import { describe, expect, it } from 'vitest'
import { clockSkewMs, explainConnection, judgeCertificate, judgeClock, judgeLimits, judgeScopes } from './judge.ts'

const date = 'Sat, 21 Nov 2026 09:30:00 GMT'
const serverMs = Date.parse(date)

describe('the clock', () => {
  it.each([
    [serverMs + 400, 200, 0],
    [serverMs + 600, 10_000, 0],
    [serverMs + 90_500, 0, 90_000],
    [serverMs - 400_000, 1_000, -400_000],
  ])('a request at %i that takes %i ms shows a skew of %i ms', (sentMs, tookMs, skewMs) => {
    expect(clockSkewMs({ date, sentMs, receivedMs: sentMs + tookMs })).toBe(skewMs)
  })

  it('is unknown without a Date header', () => {
    expect(judgeClock(clockSkewMs({ date: null, sentMs: 0, receivedMs: 0 })).status).toBe('skipped')
  })

  it.each([
    [0, 'ok'],
    [-59_000, 'ok'],
    [90_000, 'warning'],
    [-301_000, 'failed'],
  ])('a skew of %i ms is %s', (skewMs, status) => {
    expect(judgeClock(skewMs).status).toBe(status)
  })
})

describe('scopes, limits and certificates', () => {
  it('names the scopes that the key lacks', () => {
    expect(judgeScopes(['uploads:write', 'tasks:read'])).toMatchObject({ status: 'failed', exitCode: 3 })
    expect(judgeScopes(['uploads:write', 'tasks:read', 'tasks:write']).status).toBe('ok')
  })

  it.each([
    [null, null, 'ok'],
    [1_000, 500, 'ok'],
    [1_000, 99, 'warning'],
    [1_000, 0, 'failed'],
  ])('a quota of %s with %s left is %s', (limit, remaining, status) => {
    expect(judgeLimits({ limit, remaining, resetsAt: '2026-12-01T00:00:00Z' }, '1200').status).toBe(status)
  })

  it('warns two weeks before a certificate ends', () => {
    expect([judgeCertificate(90, 'TLSv1.3').status, judgeCertificate(13, 'TLSv1.3').status]).toEqual(['ok', 'warning'])
  })

  it.each([
    ['ENOTFOUND', 'has no address'],
    ['ECONNREFUSED', 'nothing listens on'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not trusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'does not speak TLS'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'is not trusted'],
    [undefined, 'no connection to'],
  ])('explains %s', (code, text) => {
    expect(explainConnection(code, new URL('https://matte.example.com'))[0]).toContain(text)
  })
})

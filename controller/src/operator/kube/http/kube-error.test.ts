import { expect, it } from 'vitest'
import { refusal } from './kube-error.ts'

it('keeps the API server’s message and Retry-After', () => {
  const conflict = refusal('apply pods one', { kind: 'Status', code: 409, reason: 'Conflict', message: 'modified' })
  expect(conflict).toMatchObject({ status: 409, reason: 'Conflict', retryAfterMs: undefined })
  expect(conflict.message).toBe('apply pods one: 409 Conflict: modified')
  expect(refusal('list', { kind: 'Status', code: 429, details: { retryAfterSeconds: 3 } }).retryAfterMs).toBe(3_000)
  expect(refusal('list', { kind: 'Status', code: 429 }, '2').retryAfterMs).toBe(2_000)
})

it('limits Retry-After to a minute and ignores an invalid one', () => {
  const waits = ['86400', '0', '-5', 'Fri, 31 Dec 1999 23:59:59 GMT'].map(
    (after) => refusal('list', { kind: 'Status', code: 503 }, after).retryAfterMs,
  )
  expect(waits).toEqual([60_000, undefined, undefined, undefined])
})

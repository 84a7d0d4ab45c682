import { describe, expect, it } from 'vitest'
import { findHeaderIssue, maskHeaders, mergeHeaders } from './own-headers.ts'

describe('findHeaderIssue', () => {
  it.each(['X-Token', 'Authorization', 'Cookie', 'x_y', "!#$%&'*+.^_`|~", '__proto__', 'Content-Language'])(
    'accepts the name %s',
    (name) => {
      expect(findHeaderIssue(name, 'a')).toBeUndefined()
    },
  )

  it.each([
    ...['Host', 'content-length', 'Content-Type', 'TRANSFER-ENCODING', 'Connection', 'Keep-Alive', 'TE', 'Trailer'],
    ...['Upgrade', 'Expect', 'Proxy-Authorization', 'proxy-connection', 'X-Service-Signature', 'webhook-id'],
    ...['Webhook-Anything', 'X-Matte-Sample', 'traceparent', 'User-Agent', 'Forwarded', 'X-Forwarded-For'],
  ])('refuses %s, which the service or the connection sets', (name) => {
    expect(findHeaderIssue(name, 'a')).toMatch(/set by the service/)
  })

  it.each(['', 'a b', 'a:', 'a\r\nHost', 'é', 'a'.repeat(65)])('refuses the name %j', (name) => {
    expect(findHeaderIssue(name, 'a')).toBeDefined()
  })

  it.each(['a', 'Bearer abc', '"quoted"', 'x'.repeat(1_024)])('accepts the value %j', (value) => {
    expect(findHeaderIssue('X-A', value)).toBeUndefined()
  })

  it.each(['', ' a', 'a ', 'a\r\nX-B: c', 'a\nb', 'a\0', 'a\tb', 'é', '••••1234', 'x'.repeat(1_025)])(
    'refuses the value %j without repeating it',
    (value) => {
      const issue = findHeaderIssue('X-A', value)
      expect(issue).toMatch(/^must be /)
      if (value.length > 2) expect(issue).not.toContain(value)
    },
  )
})

it('changes replace, add and remove headers without regard to case', () => {
  const current = { 'X-A': '1', 'X-B': '2' }
  expect(mergeHeaders(current, { 'x-a': '3', 'X-b': null, 'X-C': '4' })).toEqual({ 'x-a': '3', 'X-C': '4' })
  expect(mergeHeaders(current, {})).toEqual(current)
})

it('a mask shows the last four characters of a long value, and nothing of a short one', () => {
  expect(maskHeaders({ 'X-A': '0123456789abcdef', 'X-B': '0123456789abcde' })).toEqual({
    'X-A': '••••cdef',
    'X-B': '••••',
  })
})

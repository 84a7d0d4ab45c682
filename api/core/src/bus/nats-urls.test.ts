import { describe, expect, it } from 'vitest'
import { readNatsUrls } from './nats-urls.ts'

describe('readNatsUrls', () => {
  it.each([
    ['nats://a:4222', { servers: ['a:4222'] }],
    ['a:4222, nats://b:4223', { servers: ['a:4222', 'b:4223'] }],
    ['nats://user:p@ss@a', { servers: ['a'], user: 'user', pass: 'p@ss' }],
    ['nats://user:p%2Fs%25s@a,nats://b', { servers: ['a', 'b'], user: 'user', pass: 'p/s%s' }],
    ['nats://user:100%@a', { servers: ['a'], user: 'user', pass: '100%' }],
    ['nats://t0ken@a,nats://t0ken@b', { servers: ['a', 'b'], token: 't0ken' }],
    ['tls://user:pass@[::1]:4222', { servers: ['[::1]:4222'], user: 'user', pass: 'pass', tls: {} }],
  ])('%s', (text, expected) => {
    expect(readNatsUrls(text)).toEqual(expected)
  })

  it.each([
    '',
    'http://a',
    'nats://',
    'nats://a/path',
    'nats://one:x@a,nats://two:y@b',
    'nats://a,,nats://b',
    'tls://u:p@a,nats://b',
    'nats://:secret@a',
  ])('rejects %j without showing it', (text) => {
    expect(() => readNatsUrls(text)).toThrow(/^must (be nats|have the same)/)
  })
})

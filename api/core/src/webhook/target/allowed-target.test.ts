import { describe, expect, it } from 'vitest'
import { parseAllowedTarget } from './target-url.ts'

describe('parseAllowedTarget', () => {
  it.each([
    ['127.0.0.1:9000', '127.0.0.1:9000'],
    ['127.1:09000', '127.0.0.1:9000'],
    ['Receiver.Internal:*', 'receiver.internal:*'],
    ['[::1]:443', '[::1]:443'],
    ['[0:0::1]:*', '[::1]:*'],
    ['bücher.example:80', 'xn--bcher-kva.example:80'],
  ])('parses %s as %s', (entry, target) => {
    expect(parseAllowedTarget(entry)).toBe(target)
  })

  it.each([
    '',
    'host',
    'host:',
    ':80',
    'host:0',
    'host:65536',
    'host:99999',
    'host:**',
    'http://host:80',
    'a/b:80',
    'a@b:80',
    '::1:80',
    '[x]:80',
    'a b:80',
    '*:80',
  ])('rejects %j', (entry) => {
    expect(parseAllowedTarget(entry)).toBeUndefined()
  })
})

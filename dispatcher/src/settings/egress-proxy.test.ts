import { parseEnv } from '@matte/core/runtime/env'
import { describe, expect, it } from 'vitest'
import { egressProxy } from './egress-proxy.ts'

const read = (text: string) => parseEnv({ egressProxy }, { WEBHOOK_EGRESS_PROXY: text }).egressProxy

describe('WEBHOOK_EGRESS_PROXY', () => {
  it.each([
    ['', undefined],
    ['http://proxy.internal:3128', { host: 'proxy.internal', port: 3128, authorization: undefined }],
    ['http://proxy.internal/', { host: 'proxy.internal', port: 80, authorization: undefined }],
    ['http://[fd00::1]:3128', { host: 'fd00::1', port: 3128, authorization: undefined }],
    ['http://a:b%3Ac@10.0.0.3:8', { host: '10.0.0.3', port: 8, authorization: 'Basic YTpiOmM=' }],
    ['http://a@p:8', { host: 'p', port: 8, authorization: 'Basic YTo=' }],
  ])('accepts %j', (text, expected) => {
    expect(read(text)).toEqual(expected)
  })

  it.each([
    ['https://u:pass-word@proxy:3128', 'must begin with http://'],
    ['socks5://u:pass-word@proxy:1080', 'must begin with http://'],
    ['proxy.internal:3128', 'must begin with http://'],
    ['http://u:pass-word@:3128', 'must begin with http://'],
    ['http://u:pass-word@proxy:0', 'a port other than 0'],
    ['http://u:pass-word@proxy:99999', 'must begin with http://'],
    ['http://u:pass-word@proxy:3128/path', 'a proxy has no path'],
    ['http://u:pass-word@proxy:3128?a=b', 'a proxy has no path'],
    ['http://u:pass-word%@proxy:3128', 'must percent-encode user and password: % as %25'],
  ])('rejects %j without showing the password', (text, said) => {
    expect(() => read(text)).toThrow(said)
    expect(() => read(text)).not.toThrow('pass-word')
  })
})

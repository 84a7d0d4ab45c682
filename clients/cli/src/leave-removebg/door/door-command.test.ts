import { describe, expect, it } from 'vitest'
import { findUpstreamProxy, readAddress } from './door-command.ts'

describe('readAddress', () => {
  it.each([
    ['8443', { host: '127.0.0.1', port: 8443 }],
    [':8443', { host: '127.0.0.1', port: 8443 }],
    ['127.0.0.2', { host: '127.0.0.2', port: 0 }],
    ['127.0.0.1:443', { host: '127.0.0.1', port: 443 }],
    ['localhost:443', { host: '127.0.0.1', port: 443 }],
    ['[::1]:443', { host: '::1', port: 443 }],
  ])('%s', (text, address) => {
    expect(readAddress(text)).toEqual(address)
  })

  it.each(['', 'npm', '0.0.0.0:8443', '192.0.2.1', '[::]:443', '127.0.0.1:70000', 'example.com:443'])(
    'refuses %j',
    (text) => {
      expect(() => readAddress(text)).toThrow('address of this machine')
    },
  )
})

describe('findUpstreamProxy', () => {
  it('takes an http URL, and refuses anything else', () => {
    expect(findUpstreamProxy({})).toBeUndefined()
    expect(findUpstreamProxy({ https_proxy: 'http://proxy:3128' })?.host).toBe('proxy:3128')
    expect(() => findUpstreamProxy({ HTTPS_PROXY: 'socks5://proxy' })).toThrow('HTTPS_PROXY is no http URL')
    expect(() => findUpstreamProxy({ HTTPS_PROXY: 'proxy:3128' })).toThrow('HTTPS_PROXY is no http URL')
  })
})

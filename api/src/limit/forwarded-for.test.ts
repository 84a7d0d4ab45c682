import { fastify } from 'fastify'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { isPrivatePeer, warnOfUntrustedForwarding } from './forwarded-for.ts'

describe('isPrivatePeer', () => {
  it.each(['10.1.2.3', '172.31.0.1', '192.168.1.1', '127.0.0.6', '100.64.0.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
    'is true of %s',
    (address) => expect(isPrivatePeer(address)).toBe(true),
  )
  it('is true of a link-local address with its zone', () => expect(isPrivatePeer('fe80::1%eth0')).toBe(true))
  it.each(['203.0.113.5', '172.32.0.1', '::ffff:203.0.113.5', '2001:db8::1', 'nonsense'])('is false of %s', (address) =>
    expect(isPrivatePeer(address)).toBe(false),
  )
})

describe('warnOfUntrustedForwarding', () => {
  const ask = async (requests: readonly { readonly from: string; readonly forwarded: boolean }[]) => {
    const lines: string[] = []
    const app = fastify()
    warnOfUntrustedForwarding(app, pino({}, { write: (line: string) => void lines.push(line) }))
    app.get('/', async () => 'x')
    for (const { from: remoteAddress, forwarded } of requests) {
      const headers = forwarded ? { 'x-forwarded-for': '198.51.100.1' } : {}
      await app.inject({ url: '/', remoteAddress, headers })
    }
    return lines.map((line) => JSON.parse(line) as { peer: string; msg: string })
  }

  it('warns once, and names the setting', async () => {
    const flood = Array.from({ length: 100 }, (_, index) => ({ from: `10.0.0.${index}`, forwarded: true }))
    const lines = await ask(flood)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ peer: '10.0.0.0', msg: expect.stringContaining('TRUSTED_PROXY_HOPS') })
  })

  it('does not warn about a public peer, which may forge the header, or about requests without it', async () => {
    expect(await ask([{ from: '203.0.113.5', forwarded: true }])).toEqual([])
    expect(await ask([{ from: '10.0.0.1', forwarded: false }])).toEqual([])
  })
})

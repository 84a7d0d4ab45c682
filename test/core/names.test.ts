// Names as our processes look them up: of a real name server, and without a thread of Node's pool.
import dns from 'node:dns'
import { useOwnLookup } from '@matte/core/runtime/names/lookup'
import { queryName } from '@matte/core/runtime/names/query-name'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type NameServer, startNameServer } from '../support/names/name-server.ts'

let server: NameServer

beforeAll(async () => {
  server = await startNameServer()
  process.env.TEST_NAME_SERVER = server.address
  await import('../support/names/own-name-server.ts')
})
beforeEach(() => {
  server.mode = 'answer'
  server.asked.length = 0
  server.records.clear()
})
afterAll(() => server.close())

const pod = { hosts: '', resolvConf: 'search matte.svc.test svc.test\noptions ndots:5' }

describe('a name', () => {
  it('is answered in both families, with the shortest time that a record lives', async () => {
    server.records.set('store.test', { addresses: ['10.0.0.1', '10.0.0.2', 'fd00::1'], ttlSeconds: 7 })
    expect(await queryName('store.test', { hosts: '', resolvConf: '' })).toEqual({
      addresses: [
        { address: '10.0.0.1', family: 4 },
        { address: '10.0.0.2', family: 4 },
        { address: 'fd00::1', family: 6 },
      ],
      ttlSeconds: 7,
    })
  })

  it('that is short is completed by the domains of resolv.conf', async () => {
    server.records.set('nats.svc.test', { addresses: ['10.0.0.3'], ttlSeconds: 5 })
    expect(await queryName('nats', pod)).toMatchObject({ addresses: [{ address: '10.0.0.3' }] })
    expect(server.asked).toEqual(['nats.matte.svc.test', 'nats.svc.test'])
  })

  it('of the hosts file is not asked for, and localhost is this machine', async () => {
    const hosts = '10.1.1.1 store.test'
    expect(await queryName('store.test', { ...pod, hosts })).toMatchObject({ addresses: [{ address: '10.1.1.1' }] })
    expect(await queryName('localhost', pod)).toMatchObject({
      addresses: [{ address: '127.0.0.1' }, { address: '::1' }],
    })
    expect(server.asked).toEqual([])
  })

  it.each([
    ['does not exist', 'answer', 'ENOTFOUND'],
    ['cannot be answered', 'fail', 'EAI_AGAIN'],
    ['is never answered', 'hang', 'EAI_AGAIN'],
  ] as const)('that %s is the error of dns.lookup', async (_, mode, code) => {
    server.mode = mode
    await expect(queryName('nobody.test', pod)).rejects.toMatchObject({ code, hostname: 'nobody.test' })
    // One that is silent is not asked for each completion: all would wait as long.
    expect(new Set(server.asked).size).toBe(mode === 'hang' ? 1 : 3)
  })
})

describe('dns.lookup', () => {
  beforeAll(() => useOwnLookup())

  it('takes all forms that Node’s own takes', async () => {
    server.records.set('both.test', { addresses: ['10.0.0.1', 'fd00::1'], ttlSeconds: 60 })
    const four = { address: '10.0.0.1', family: 4 }
    const six = { address: 'fd00::1', family: 6 }
    const { lookup } = dns.promises
    expect(await lookup('both.test')).toEqual(four)
    expect(await lookup('both.test', { all: true })).toEqual([four, six])
    expect(await lookup('BOTH.test', { all: true, order: 'ipv6first' })).toEqual([six, four])
    expect(await lookup('both.test', 6)).toEqual(six)
    expect(await lookup('both.test', { family: 'IPv6' })).toEqual(six)
    expect(await lookup('::1')).toEqual({ address: '::1', family: 6 })
    await expect(lookup('::1', 4)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    const called = await new Promise((resolve) => dns.lookup('both.test', (...values) => resolve(values)))
    expect(called).toEqual([null, '10.0.0.1', 4])
    const all = await new Promise((resolve) => dns.lookup('both.test', { all: true }, (...values) => resolve(values)))
    expect(all).toEqual([null, [four, six]])
    expect(server.asked).toEqual(['both.test'])
  })

  it('answers while images keep every thread of the pool', async () => {
    server.records.set('busy.test', { addresses: ['10.0.0.1'], ttlSeconds: 60 })
    const photo = await sharp({ create: { width: 4_000, height: 3_000, channels: 3, background: '#357' } })
      .jpeg()
      .toBuffer()
    let decoded = 0
    const decodes = Array.from({ length: 40 }, async () => {
      await sharp(photo).raw().toBuffer()
      decoded += 1
    })
    await dns.promises.lookup('busy.test')
    const before = decoded
    await Promise.all(decodes)
    // By getaddrinfo nearly all 40 came first.
    expect(before).toBeLessThan(20)
  })
})

import { describe, expect, it } from 'vitest'
import { clientNetwork, wideNetwork } from './client-network.ts'

describe('clientNetwork', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:4711', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2:3:4:5:6]:4711', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
    ['unknown', 'unknown'],
    ['', ''],
    ['192.0.2.1:', '192.0.2.1:'],
    ['[unknown]:4711', '[unknown]:4711'],
  ])('takes %s for %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network)
  })

  it('is the same for two addresses of one /64, and differs between two /64s', () => {
    expect(clientNetwork('2001:db8:0:1::1')).toBe(clientNetwork('2001:db8:0:1:ffff::2'))
    expect(clientNetwork('2001:db8:0:1::1')).not.toBe(clientNetwork('2001:db8:0:2::1'))
  })

  it('truncates text that is not an address', () => {
    expect(clientNetwork('x'.repeat(1_000))).toHaveLength(64)
  })
})

describe('wideNetwork', () => {
  it.each([
    ['192.0.2.1', '192.0.2.0/24'],
    ['192.0.2.254:4711', '192.0.2.0/24'],
    ['::ffff:192.0.2.1', '192.0.2.0/24'],
    ['::ffff:c000:2ff', '192.0.2.0/24'],
    ['192.0.3.1', '192.0.3.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8:1:ffff::1', '2001:db8:1::/48'],
    ['2001:db8:2::1', '2001:db8:2::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
    ['unknown', 'unknown'],
    ['_hidden', 'unknown'],
    ['', 'unknown'],
  ])('takes %s for %s', (address, network) => {
    expect(wideNetwork(address)).toBe(network)
  })
})

import { describe, expect, it } from 'vitest'
import { isDialable, parseNetworks } from './address.ts'

const refused: Readonly<Record<string, readonly string[]>> = {
  'this network, unspecified': ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.254.3.9', '::1'],
  private: [
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.254',
    '192.168.0.1',
    'fc00::1',
    'fdff::1',
    'fec0::1',
  ],
  'link-local, metadata': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fd00:ec2::254', 'fd20:ce::254'],
  'provider addresses': ['168.63.129.16', '100.100.100.200', '192.0.0.192'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'protocol, benchmark': ['192.0.0.1', '198.18.0.1', '198.19.255.255', '2001:2::1', '2001:2:0:ffff::1'],
  documentation: ['192.0.2.1', '198.51.100.7', '203.0.113.9', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  'multicast, reserved, broadcast': ['224.0.0.1', '239.1.2.3', '240.0.0.1', '255.255.255.255', 'ff02::1', 'ff0e::1'],
  'relay, AS112, AMT': [
    '192.88.99.1',
    '192.31.196.1',
    '192.175.48.1',
    '192.52.193.1',
    '2620:4f:8000::1',
    '2001:4:112::1',
    '2001:3::1',
  ],
  'IPv4 inside IPv6': [
    '::ffff:7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::ffff:5db8:d70e',
    '::7f00:1',
    '::ffff:0:7f00:1',
    '::5efe:7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::a83f:8110',
    '64:ff9b:1::7f00:1',
    '64:ff9b:1::5db8:d70e',
    '2002:7f00:1::',
    '2002:5db8:d70e::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  ],
  'other IPv6': [
    '100::1',
    '100:0:0:1::1',
    '2001:20::1',
    '2001:10::1',
    '5f00::1',
    '1::1',
    '4000::1',
    '8000::1',
    'e000::1',
  ],
  'no address': ['', 'example.com', '127.1', '0x7f000001', '0177.0.0.1', '2130706433', '[::1]', '2606:4700::1%eth0'],
}

const dialable = [
  '93.184.215.14',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '128.0.0.0',
  '168.63.129.15',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2a00:1450:4001:80b::200e',
  '3ffe:ffff::1',
  '64:ff9b::5db8:d70e',
]

describe('isDialable', () => {
  for (const [kind, addresses] of Object.entries(refused)) {
    it.each(addresses)(`rejects ${kind}: %s`, (address) => {
      expect(isDialable(address)).toBe(false)
    })
  }

  it.each(dialable)('accepts %s', (address) => {
    expect(isDialable(address)).toBe(true)
  })

  it('checks the IPv4 address inside a NAT64 address', () => {
    for (let i = 0; i < 65_536; i += 17) {
      const [a, b] = [i >> 8, i & 255]
      const inside = `64:ff9b::${((a << 8) | b).toString(16)}:1`
      expect(isDialable(inside), inside).toBe(isDialable(`${a}.${b}.0.1`))
    }
  })

  it('rejects everything outside 2000::/3 except NAT64', () => {
    for (let first = 0; first < 65_536; first += 13) {
      if (first >= 0x2000 && first < 0x4000) continue
      expect(isDialable(`${first.toString(16)}:1:2:3:4:5:6:7`)).toBe(false)
    }
  })

  it.each([
    ['1.2.3.4', ['1.2.0.0/16'], false],
    ['1.3.3.4', ['1.2.0.0/16'], true],
    ['2a00:1::5', ['10.0.0.0/8', '2a00:1::/32'], false],
    ['64:ff9b::102:304', ['1.2.0.0/16'], false],
    ['64:ff9b::102:304', ['64:ff9b::/96'], false],
  ])('checks %s with denied networks %j: %s', (address, denied, verdict) => {
    expect(isDialable(address, denied)).toBe(verdict)
  })
})

describe('parseNetworks', () => {
  it('accepts commas and blanks', () => {
    expect(parseNetworks(' 10.0.0.0/8, fd00::/8\n1.2.3.4/32 ')).toEqual(['10.0.0.0/8', 'fd00::/8', '1.2.3.4/32'])
    expect(parseNetworks('')).toEqual([])
  })

  it.each(['10.0.0.0', '10.0.0.0/33', 'example.com/8', '127.1/8', 'fd00::/129'])('rejects %s by name', (text) => {
    expect(() => parseNetworks(`1.0.0.0/8,${text}`)).toThrow(text)
  })
})

import { describe, expect, it } from 'vitest'
import { addressesIn } from './network-caller.ts'

describe('networks of clients', () => {
  const isAllowed = addressesIn(['10.0.0.0/8', '192.0.2.7/32', 'fd00::/8'])

  it.each(['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', 'fd12::1', 'fd12::1%eth0'])('hold %s', (address) => {
    expect(isAllowed(address)).toBe(true)
  })

  it.each(['11.0.0.1', '192.0.2.8', '::ffff:192.0.2.8', 'fe80::1', '::1', 'unknown', ''])(
    'do not hold %j',
    (address) => {
      expect(isAllowed(address)).toBe(false)
    },
  )
})

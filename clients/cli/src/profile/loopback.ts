import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Whether an IP address is of this machine alone. IPv4 written as IPv6 counts too. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** Whether a host of a URL is this machine, so a key in clear text crosses no network. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(.+\.)?localhost$/.test(hostname) || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''))

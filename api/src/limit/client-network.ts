import { isIP } from 'node:net'

/**
 * What failed credentials are counted by: an IPv4 address, or the /64 of an IPv6 address, since whoever has one
 * address of a /64 has them all. IPv4 in IPv6's clothes (`::ffff:192.0.2.1`) is IPv4. A text that is no address, which
 * a trusted proxy may have written, is counted as it is, cut to 64 characters.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined && isIP(mapped) === 4) return mapped
  if (isIP(address) !== 6) return address.slice(0, 64)
  return `${firstGroups(address).join(':')}::/64`
}

/** The first four groups of a valid IPv6 address, without leading zeros and in lower case. */
function firstGroups(address: string): string[] {
  // The URL parser writes IPv6 addresses in their one shortest form; a zone (`%eth0`) it would refuse.
  const shortest = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = shortest.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after].slice(0, 4)
}

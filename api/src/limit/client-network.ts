import { isIP } from 'node:net'

/** Groups of 16 bits that name the holder of an IPv6 address: one subscriber, and about one site. */
const [subscriberGroups, siteGroups] = [4, 3]

/**
 * Subject of a client's requests and failures: an IPv4 address, or the /64 of an IPv6 address, since the holder of one
 * address of a /64 has all of them. An IPv4 address mapped into IPv6 is IPv4, and a port is left out, as
 * some proxies write it. Any other text that a trusted proxy may have written is counted as it is, cut to 64
 * characters.
 */
export function clientNetwork(text: string): string {
  const address = parse(text)
  if (address === undefined) return text.slice(0, 64)
  return typeof address === 'string' ? address : `${address.slice(0, subscriberGroups).join(':')}::/64`
}

/**
 * The network around it, as far as one holder is likely to have it: a /24 of IPv4, a /48 of IPv6. All texts that are no
 * address are one network.
 */
export function wideNetwork(text: string): string {
  const address = parse(text)
  if (address === undefined) return 'unknown'
  if (typeof address !== 'string') return `${address.slice(0, siteGroups).join(':')}::/48`
  return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
}

/** IPv4 as text; IPv6 as its eight groups, without leading zeros and in lower case. */
function parse(text: string): string | readonly string[] | undefined {
  const [, bracketed, before] = /^(?:\[(.*)\]|(\d+(?:\.\d+){3})):\d{1,5}$/.exec(text) ?? []
  const address = bracketed ?? before ?? text
  const version = isIP(address)
  if (version !== 6) return version === 4 ? address : undefined
  const groups = groupsOf(address)
  return isMapped(groups) ? toIPv4(groups) : groups
}

function groupsOf(address: string): string[] {
  // The URL parser writes IPv6 addresses in their one shortest form; a zone (`%eth0`) it would refuse.
  const shortest = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = shortest.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}

/** `::ffff:192.0.2.1`, or the same in hexadecimal digits. */
const isMapped = (groups: readonly string[]): boolean =>
  groups[5] === 'ffff' && groups.slice(0, 5).every((group) => group === '0')

const toIPv4 = (groups: readonly string[]): string =>
  groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 255])
    .join('.')

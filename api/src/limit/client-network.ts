import { isIP } from 'node:net'

/** As stored and shown, without a zone. Null for other text, so an unusual proxy does not prevent sign-in. */
export function clientAddress(address: string): string | null {
  const plain = address.split('%')[0] ?? ''
  return isIP(plain) === 0 ? null : plain
}

/** The client of an API key: canonical, an IPv4-mapped address as IPv4, without port and zone. Null for other text. */
export function callerAddress(text: string): string | null {
  const address = parse(text)
  if (address === undefined || typeof address === 'string') return address ?? null
  return new URL(`http://[${address.join(':')}]`).hostname.slice(1, -1)
}

/** 16-bit groups of an IPv6 address: a subscriber (/64), a site (/48). */
const [subscriberGroups, siteGroups] = [4, 3]

/** An IPv4 address or the IPv6 /64 of one subscriber. Ports are ignored; other text counts, cut to 64 characters. */
export function clientNetwork(text: string): string {
  const address = parse(text)
  if (address === undefined) return text.slice(0, 64)
  return typeof address === 'string' ? address : `${address.slice(0, subscriberGroups).join(':')}::/64`
}

/** The surrounding network: an IPv4 /24 or IPv6 /48. All other text counts as one network. */
export function wideNetwork(text: string): string {
  const address = parse(text)
  if (address === undefined) return 'unknown'
  if (typeof address !== 'string') return `${address.slice(0, siteGroups).join(':')}::/48`
  return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
}

/** IPv4 as text; IPv6 as eight lower-case groups without leading zeros. */
function parse(text: string): string | readonly string[] | undefined {
  const [, bracketed, before] = /^(?:\[(.*)\]|(\d+(?:\.\d+){3})):\d{1,5}$/.exec(text) ?? []
  const address = bracketed ?? before ?? text
  const version = isIP(address)
  if (version !== 6) return version === 4 ? address : undefined
  const groups = groupsOf(address)
  return isMapped(groups) ? toIPv4(groups) : groups
}

function groupsOf(address: string): string[] {
  // The URL parser normalizes IPv6 addresses; it refuses a zone (`%eth0`).
  const shortest = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = shortest.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}

/** `::ffff:192.0.2.1`, or the same in hexadecimal. */
const isMapped = (groups: readonly string[]): boolean =>
  groups[5] === 'ffff' && groups.slice(0, 5).every((group) => group === '0')

const toIPv4 = (groups: readonly string[]): string =>
  groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 255])
    .join('.')

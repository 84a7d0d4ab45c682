// Addresses that webhooks may be sent to (D66), compared as numbers. IPv6 is an allow list (2000::/3), because a deny
// list misses transition formats.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Ip = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Ip, number]

const networks = (...cidrs: string[]): readonly Network[] => cidrs.map((cidr) => ipaddr.parseCIDR(cidr))

/** IANA's special-purpose registry, multicast, reserved space, and public addresses that clouds use internally. */
const specialIpv4 = networks(
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata service
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's host agent, in a public range
  '169.254.0.0/16', // link-local; the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; Oracle's metadata service
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
)

const globalUnicast = networks('2000::/3')
const specialIpv6 = networks(
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID, AMT, AS112
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address inside, private ones too
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
)
const nat64 = networks('64:ff9b::/96')

/**
 * Whether a webhook may be sent to this address. `deniedNetworks`: the operator's CIDRs. Text that is not a canonical
 * address, or has a zone, is rejected.
 * @throws Error if a denied network is not a CIDR; `parseNetworks` rejects those at start
 */
export function isDialable(address: string, deniedNetworks: readonly string[] = []): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  return isPublic(ipaddr.parse(address), networks(...deniedNetworks))
}

function isPublic(ip: Ip, denied: readonly Network[]): boolean {
  if (isInAny(ip, denied)) return false
  if (ip instanceof ipaddr.IPv4) return !isInAny(ip, specialIpv4)
  // A NAT64 gateway forwards to the IPv4 address inside.
  if (isInAny(ip, nat64)) return isPublic(new ipaddr.IPv4(ip.toByteArray().slice(12)), denied)
  return isInAny(ip, globalUnicast) && !isInAny(ip, specialIpv6)
}

const isInAny = (ip: Ip, list: readonly Network[]): boolean =>
  list.some((network) => network[0].kind() === ip.kind() && ip.match(network))

/** Parses CIDRs separated by commas or blanks. @throws Error that names the first invalid one */
export function parseNetworks(text: string): readonly string[] {
  const cidrs = text.split(/[\s,]+/).filter((cidr) => cidr !== '')
  const wrong = cidrs.find((cidr) => isIP(cidr.split('/')[0] ?? '') === 0 || !ipaddr.isValidCIDR(cidr))
  if (wrong !== undefined) throw new Error(`must be networks such as 10.0.0.0/8,fd00::/8; ${wrong} is invalid`)
  return cidrs
}

/** Single addresses and networks, without duplicates. @throws Error naming the first invalid one */
export function parseSources(text: string): readonly string[] {
  const sources = text.split(/[\s,]+/).filter((source) => source !== '')
  const wrong = sources.find(
    (source) => isIP(source.split('/')[0] ?? '') === 0 || (source.includes('/') && !ipaddr.isValidCIDR(source)),
  )
  if (wrong !== undefined) throw new Error(`must be addresses or networks such as 203.0.113.7; ${wrong} is invalid`)
  return [...new Set(sources)]
}

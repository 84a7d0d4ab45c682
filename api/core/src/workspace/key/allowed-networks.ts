// Networks that an API key may be used from, as canonical CIDRs.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Also a CHECK of the table. */
export const networksMax = 20

/**
 * An address or a network as CIDR: `203.0.113.7` is `203.0.113.7/32`, and an IPv4-mapped one its IPv4 form.
 * @throws Error that names the text and says what to write
 */
export function parseKeyNetwork(text: string): string {
  const given = JSON.stringify(text)
  const [address = '', length] = text.split('/')
  const isNetwork = /\/(0|[1-9]\d*)$/.test(text) && ipaddr.isValidCIDR(text)
  if (isIP(address) === 0 || address.includes('%') || !(length === undefined || isNetwork)) {
    throw new Error(`${given} must be an address or a network, such as 203.0.113.7 or 2001:db8::/32`)
  }
  const [ip, bits] = withoutMapping(ipaddr.parse(address), length)
  const cidr = `${ip}/${bits}`
  const family = ip instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6
  const network = `${family.networkAddressFromCIDR(cidr)}/${bits}`
  if (network !== cidr)
    throw new Error(`${given} has bits set after its prefix: write ${network}, or the address alone`)
  return cidr
}

const mappedBits = 96

function withoutMapping(ip: ipaddr.IPv4 | ipaddr.IPv6, length: string | undefined): [typeof ip, number] {
  const bits = length === undefined ? 8 * ip.toByteArray().length : Number(length)
  if (!(ip instanceof ipaddr.IPv6 && ip.isIPv4MappedAddress()) || bits < mappedBits) return [ip, bits]
  return [ip.toIPv4Address(), bits - mappedBits]
}
